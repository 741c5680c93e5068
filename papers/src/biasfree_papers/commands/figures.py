"""`biasfree list`, `run`, `draw`, `report`: the papers' figures and their claims."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from biasfree.stopping import STOP
from biasfree.threads import cores, one_thread

if TYPE_CHECKING:
    from biasfree_papers.experiment import Experiment
    from biasfree_papers.reproduction import Failure

_OUT = Path("out")
Out = Annotated[Path, typer.Option(help="The folder of results, with one folder per figure.")]
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
        for name, setting in experiment.settings.items():
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
    out: Out = _OUT,
) -> None:
    """Make figures: numbers, claims, pictures, a report. Exit code 1 if a claim of ours does not hold."""
    from biasfree_papers.reproduction.storage import make_folder

    with one_thread(), STOP.deferred():
        chosen = _chosen(names or [], every)
        changed = _changes(changes or [], seeds)
        settled = [(one, one.settle({**(_small(one) if small else {}), **changed})) for one in chosen]
        if jobs is not None and jobs < 1:
            raise ValueError(f"--jobs must be 1 or more, got {jobs}.")
        out = out / "small" if small else out  # numbers of full size stay
        make_folder(out)
        with _locked(out):
            failures = _make(settled, out, jobs or cores(), anew)
            _tell([experiment.name for experiment in chosen], out, failures)


def draw(
    names: Names = None,
    every: Annotated[bool, typer.Option("--all", help="Draw every figure that has numbers.")] = False,
    out: Out = _OUT,
) -> None:
    """Renew pictures and claims from the numbers stored by `run`."""
    from biasfree_papers.reproduction import draw as drawn
    from biasfree_papers.reproduction import is_current

    chosen = [one for one in _chosen(names or [], every) if not every or (out / one.name).is_dir()]
    _require(out)
    with _locked(out):
        for experiment in chosen:
            figure = drawn(experiment, out)
            if not is_current(figure):
                typer.echo(
                    f"Note: the numbers of {experiment.name} were made by other sources or versions; "
                    f"`biasfree run {experiment.name}` renews them.",
                    err=True,
                )
        _tell([experiment.name for experiment in chosen], out, [])


def report(out: Out = _OUT) -> None:
    """Write report.html and claims.json from the finished figures."""
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
    typer.echo(f"{len(records)} figures in {out / 'report.html'} and {out / 'claims.json'}")


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


def _small(experiment: Experiment) -> Mapping[str, Any]:
    if not experiment.small:
        raise ValueError(f"{experiment.name} has no small settings; run it without --small.")
    return experiment.small


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

    with Watcher([experiment for experiment, _ in settled]) as watcher:
        return make_all(settled, out, jobs=jobs, watch=watcher, anew=anew, stopped=lambda: STOP.signal)


def _tell(names: list[str], out: Path, failures: list[Failure]) -> None:
    """Write the report, print the claims, and exit with code 1 if a claim of ours or a figure failed."""
    from biasfree_papers.commands.claims import show_claims
    from biasfree_papers.reproduction import write_report

    failed = {failure.name for failure in failures}
    records = [record for record in write_report(out) if record["figure"] in set(names) - failed]
    if STOP.signal:
        typer.echo(f"Stopped. What was finished is in {out}.", err=True)
        raise typer.Exit(128 + STOP.signal)
    for record in records:
        show_claims(record)
    if failures:
        typer.echo(f"biasfree: these failed, for the reasons above: {', '.join(sorted(failed))}", err=True)
    ours = [claim for record in records for claim in record["claims"] if claim["kind"] == "ours"]
    broken = sum(claim["verdict"] != "holds" for claim in ours)
    if records:
        made = ", ".join(record["figure"] for record in records)
        typer.echo(f"Written to {out}: report.html, claims.json, and a folder for each of {made}")
        typer.echo(f"{len(ours) - broken} of {len(ours)} claims of ours hold.")
    if broken or failures:
        raise typer.Exit(1)
