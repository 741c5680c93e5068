"""`biasfree list`, `run`, `draw`, `report`: the papers' figures and their claims."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from biasfree.stopping import STOP
from biasfree.threads import cores

if TYPE_CHECKING:
    from biasfree_papers.experiment import Experiment
    from biasfree_papers.reproduction import Failure

_OUT = Path("out")
Out = Annotated[Path, typer.Option(help="The folder of results, with one folder per figure.")]
Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", help="Print every claim and table of these figures, too.")
]
Names = Annotated[list[str] | None, typer.Argument(help="Names of figures; `biasfree list` shows them.")]


def list_figures() -> None:
    """List the installed figures with their settings."""
    from biasfree_papers.experiment import UNKNOWN
    from biasfree_papers.registry import REGISTRY

    section = ""
    for experiment in REGISTRY.values():
        if experiment.section != section:
            section = experiment.section
            typer.echo(f"# {section}")
        rebuilt = " [rebuilt]" if experiment.rebuilt else ""
        typer.echo(f"{experiment.name}{rebuilt}: {experiment.title}, about {experiment.seconds:.0f} s")
        for name, setting in experiment.settings.described().items():
            typer.echo(f"    {name} = {setting.written}: {setting.meaning}")
    typer.echo(UNKNOWN)


def run(
    names: Names = None,
    every: Annotated[bool, typer.Option("--all", help="Make every figure.")] = False,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Change a setting; may be repeated."),
    ] = None,
    seeds: Annotated[int | None, typer.Option(help="The number of seeds of the initial weights.")] = None,
    jobs: Annotated[
        int | None, typer.Option(help="Figures made in parallel; by default one per core.")
    ] = None,
    anew: Annotated[bool, typer.Option("--anew", help="Ignore stored numbers, even if unchanged.")] = False,
    small: Annotated[
        bool, typer.Option("--small", help="Run small settings, in seconds, into OUT/small.")
    ] = False,
    verbose: Verbose = False,
    out: Out = _OUT,
) -> None:
    """Make figures: numbers, claims, pictures, a report. Exit code 1 if a claim of ours does not hold."""
    from biasfree_papers.reproduction.storage import make_folder

    with STOP.deferred():
        chosen = _chosen(names or [], every)
        changed = _changes(changes or [], seeds)
        settled = [(one, one.settle({**(one.small if small else {}), **changed})) for one in chosen]
        if jobs is not None and jobs < 1:
            raise ValueError(f"--jobs must be 1 or more, got {jobs}.")
        out = out / "small" if small else out  # numbers of full size stay
        make_folder(out)
        with _locked(out):
            failures = _make(settled, out, jobs or cores(), anew)
            _tell([experiment.name for experiment in chosen], out, failures, verbose)


def draw(
    names: Names = None,
    every: Annotated[bool, typer.Option("--all", help="Draw every figure that has numbers.")] = False,
    verbose: Verbose = False,
    out: Out = _OUT,
) -> None:
    """Renew pictures and claims from the numbers stored by `run`."""
    chosen = [one for one in _chosen(names or [], every) if not every or (out / one.name).is_dir()]
    _require(out)
    with _locked(out):
        stale = [experiment.name for experiment in chosen if not _draw(experiment, out)]
        if stale:
            typer.echo(
                f"Note: the numbers of {', '.join(stale)} were made by other sources or versions; "
                f"`biasfree run {' '.join(stale)}` renews them.",
                err=True,
            )
        _tell([experiment.name for experiment in chosen], out, [], verbose)


def report(
    claims: Annotated[bool, typer.Option("--claims", help="Print every claim and table.")] = False,
    out: Out = _OUT,
) -> None:
    """Write report.html and claims.json from the finished figures, and print their verdicts."""
    from biasfree_papers.registry import REGISTRY
    from biasfree_papers.reproduction import write_report

    _require(out)
    records = write_report(out)
    finished = {record["figure"] for record in records}
    if unfinished := [name for name in REGISTRY if name not in finished and (out / name).is_dir()]:
        typer.echo(
            f"Note: left out, since files are missing or not as they were written: "
            f"{', '.join(unfinished)}; `biasfree draw` or `biasfree run` with these names renews them.",
            err=True,
        )
    _show(records, out, claims)


def _chosen(names: list[str], every: bool) -> list[Experiment]:
    from biasfree_papers.registry import REGISTRY, named

    if every == bool(names):
        raise ValueError(f"give the name of a figure, or --all; there are: {', '.join(REGISTRY)}.")
    return list(REGISTRY.values()) if every else [named(name) for name in dict.fromkeys(names)]


def _changes(changes: list[str], seeds: int | None) -> dict[str, Any]:
    for change in changes:
        if "=" not in change:
            raise ValueError(f"--set takes KEY=VALUE, got {change!r}, as in --set width=100.")
    found: dict[str, Any] = dict(change.split("=", 1) for change in changes)
    return found if seeds is None else {**found, "seeds": seeds}


def _require(out: Path) -> None:
    if not out.is_dir():
        raise ValueError(f"no folder {out}; make figures first, with `biasfree run --all --out {out}`.")


@contextmanager
def _locked(out: Path) -> Iterator[None]:
    """Lock the folder of results, and remove files that killed processes left half-written."""
    from biasfree.files import locked_folder, remove_partial
    from biasfree_papers.registry import REGISTRY

    with locked_folder(out):
        for folder in (out, *(out / name for name in REGISTRY)):
            remove_partial(folder)
        yield


def _make(
    settled: list[tuple[Experiment, dict[str, Any]]], out: Path, jobs: int, anew: bool
) -> list[Failure]:
    """Make each figure in its own process, so that this one is always free to handle signals."""
    from biasfree_papers.commands.watching import Watcher
    from biasfree_papers.reproduction import make_all

    with Watcher([experiment for experiment, _ in settled], out) as watcher:
        return make_all(settled, out, jobs=jobs, watch=watcher, anew=anew, stopped=lambda: STOP.signal)


def _draw(experiment: Experiment, out: Path) -> bool:
    """Draw a figure, print its line, and return whether its numbers are current."""
    from biasfree_papers.commands.summary import columns, figure_line, show
    from biasfree_papers.reproduction import draw as drawn
    from biasfree_papers.reproduction import is_current
    from biasfree_papers.reproduction.storage import finished_record

    began = time.perf_counter()
    figure = drawn(experiment, out)
    if (record := finished_record(out / experiment.name)) is not None:
        show([figure_line(record, time.perf_counter() - began, columns())])
    return is_current(figure)


def _tell(names: list[str], out: Path, failures: list[Failure], verbose: bool) -> None:
    """Write the report, print the verdicts, and exit with code 1 if a claim of ours or a figure failed."""
    from biasfree_papers.reproduction import write_report

    failed = {failure.name for failure in failures}
    records = [record for record in write_report(out) if record["figure"] in set(names) - failed]
    if STOP.signal:
        typer.echo(f"Stopped. What was finished is in {out}.", err=True)
        raise typer.Exit(128 + STOP.signal)
    broken = _show(records, out, verbose) if records else False
    if failures:
        typer.echo(f"biasfree: these failed, for the reasons above: {', '.join(sorted(failed))}", err=True)
    if broken or failures:
        raise typer.Exit(1)


def _show(records: Sequence[Mapping[str, Any]], out: Path, verbose: bool) -> bool:
    """Print one screen, after everything if `verbose`; claims of ours that do not hold come in full.

    Returns whether there are such.
    """
    from biasfree_papers.commands.summary import columns, screen, show, show_claims
    from biasfree_papers.reproduction.report import holds, of_kind

    if verbose:
        for record in records:
            show_claims(record, record["claims"], record["tables"])
    show(screen(records, out, width=columns()))
    broken = False
    for record in records:
        if failing := [claim for claim in of_kind(record["claims"], "ours") if not holds(claim)]:
            broken = True
            show_claims(record, failing)
    return broken
