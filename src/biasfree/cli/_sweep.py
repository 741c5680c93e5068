"""The commands `biasfree sweep run` and `biasfree sweep status`."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from biasfree.stopping import STOP

if TYPE_CHECKING:
    from biasfree.sweeps import Sweep

sweep = typer.Typer(help="Run a sweep, or say where it stands.", no_args_is_help=True)
_MODULE = "biasfree_sweep_file"


@sweep.command("status")
def status(
    store: Annotated[Path, typer.Argument(help="The folder that bf.sweep got as store=.")],
) -> None:
    """Say how many points of each sweep in a store are done; from any machine, at any time."""
    from rich.console import Console
    from rich.table import Table as Shown

    from biasfree import sweeps

    table, warned = sweeps.status(store)
    shown = Shown(*table.columns, title=table.title)
    for row in table.rows:
        shown.add_row(*(f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in row))
    Console(width=None if sys.stdout.isatty() else 160).print(shown)
    for line in warned:
        typer.echo(line)


@sweep.command("run")
def run(
    file: Annotated[Path, typer.Argument(help="A Python file with one bf.sweep(…) at module level.")],
    slurm: Annotated[
        int | None, typer.Option(help="Compute in so many jobs of Slurm, and wait for them.", min=1)
    ] = None,
    array: Annotated[
        int | None, typer.Option(help="Only write the script of a Slurm array of so many tasks.", min=1)
    ] = None,
    sbatch: Annotated[
        list[str] | None, typer.Option(help="An option of these jobs, as --sbatch=--time=2:00:00.")
    ] = None,
    shard: Annotated[
        str | None, typer.Option(help="Compute part k of n of what is missing, as 3/32; k begins at 0.")
    ] = None,
    workers: Annotated[int | None, typer.Option(help="Processes; by default one per core.", min=1)] = None,
    retry: Annotated[bool, typer.Option("--retry", help="Try failed points again.")] = False,
    keep_stale: Annotated[
        bool, typer.Option("--keep-stale", help="Keep points of other versions of the function.")
    ] = False,
) -> None:
    """Compute what is missing of the sweep in FILE: here, in jobs of Slurm, or by a script for an array."""
    part = None if shard is None else _shard(shard)
    if slurm is not None and (array or shard):
        raise ValueError("--slurm starts jobs and waits for them; drop --array and --shard.")
    if slurm is None and array is None and sbatch:
        raise ValueError("--sbatch needs --slurm or --array, the number of jobs.")
    found = loaded(file)
    if array is not None:
        _write_script(found, file, array, sbatch or [])
        return

    def go(client: object = None) -> None:
        with STOP.deferred():
            how: dict[str, Any] = {
                "workers": workers,
                "retry": retry,
                "keep_stale": keep_stale,
                "shard": part,
            }
            found.run(client=client, stopped=lambda: STOP.signal, **how)

    if slurm is None:
        go()
    else:
        from biasfree.cli._slurm import slurm_cluster

        folder = _folder(found)
        with slurm_cluster(found.name, jobs=slurm, folder=folder, options=sbatch or []) as client:
            go(client)
    failed = found.failed
    for one in failed[:10]:
        typer.echo(f"failed: {dict(one.parameters)}: {one.error}", err=True)
    if failed:
        typer.echo(f"{len(failed)} calls failed in all; --retry tries them again.", err=True)
        raise typer.Exit(1)


def loaded(file: Path) -> Sweep:
    """The one Sweep at the module level of a file."""
    from biasfree.sweeps import Sweep

    if not file.is_file():
        raise ValueError(f"there is no file {file}; pass a Python file with one bf.sweep(…) in it.")
    sys.path.insert(0, str(file.parent.absolute()))
    sys.dont_write_bytecode = True  # an edit within a second, of equal size, would leave it stale
    module = runpy.run_path(str(file.absolute()), run_name=_MODULE)  # not kept: its functions travel as text
    found = {id(value): value for value in module.values() if isinstance(value, Sweep)}
    if len(found) != 1:
        raise ValueError(
            f"{file} has {len(found)} sweeps at module level; write exactly one, as s = bf.sweep(…)."
        )
    return next(iter(found.values()))


def _shard(text: str) -> tuple[int, int]:
    k, _, n = text.partition("/")
    if not (k.isdigit() and n.isdigit() and int(k) < int(n)):
        raise ValueError(f"--shard must be k/n with 0 ≤ k < n, got {text!r}; 0/2 and 1/2 are two halves.")
    return int(k), int(n)


def _folder(found: Sweep) -> Path:
    """The folder for what jobs of Slurm write."""
    folder = found.store.folder / "slurm"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _write_script(found: Sweep, file: Path, tasks: int, options: list[str]) -> None:
    from biasfree.cli._slurm import array_script

    plan = found.plan()
    store = found.store
    typer.echo(str(plan))
    if not plan.missing:
        typer.echo("nothing is missing, so no script is written.")
        return
    folder = _folder(found)
    tasks = min(tasks, plan.missing // found.grid.per_call)
    text = array_script(file.absolute(), found.name, tasks=tasks, folder=folder, options=options)
    store.write(folder / "array.sh", text.encode())
    typer.echo(
        f"Submit it by: sbatch {folder / 'array.sh'}\nRun this command again for what is missing then."
    )
