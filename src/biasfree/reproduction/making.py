"""One figure: its numbers, made or reused; its claims, tables and pictures, written beside them."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from biasfree.experiments import Claim, Experiment
from biasfree.experiments.experiment import Numbers, Report
from biasfree.files import replacing
from biasfree.reproduction.fingerprint import figure_fingerprint, numbers_fingerprint
from biasfree.reproduction.storage import Origin, load_numbers, save_numbers, stored_numbers
from biasfree.tables import Table, plain
from biasfree.versions import versions

RECORD = "claims.json"
_FORMAT = 2  # of the record: raised when its entries change
_DPI = 200


@dataclass(frozen=True)
class Figure:
    """A finished figure: where its numbers come from, what it claims, and whether they were made just now."""

    experiment: Experiment
    origin: Origin
    claims: list[Claim]
    tables: list[Table]
    reused: bool


def make(
    experiment: Experiment, settings: Mapping[str, Any], out: Path, report: Report, *, anew: bool = False
) -> Figure:
    """Make the figure into the folder out/NAME; numbers stored there are reused if nothing changed.

    `anew` runs it whatever is stored. Claims and pictures are redrawn where any source has changed.
    """
    folder = out / experiment.name
    folder.mkdir(parents=True, exist_ok=True)
    fingerprint = numbers_fingerprint(experiment.name, settings)
    stored = None if anew else stored_numbers(folder)
    if stored is not None and stored[1].fingerprint == fingerprint:
        return _finish(experiment, *stored, folder, reused=True)
    numbers, origin = _run(experiment, settings, fingerprint, report)
    save_numbers(folder, numbers, origin)
    return _finish(experiment, numbers, origin, folder, reused=False)


def draw(experiment: Experiment, out: Path) -> Figure:
    """The claims and pictures of a figure anew, from its stored numbers, whatever made those."""
    folder = out / experiment.name
    if not folder.is_dir():
        raise ValueError(
            f"{out} has no numbers of {experiment.name}; make them with `biasfree run {experiment.name}`."
        )
    numbers, origin = load_numbers(folder)
    (folder / RECORD).unlink(missing_ok=True)
    return _finish(experiment, numbers, origin, folder, reused=True)


def is_current(figure: Figure) -> bool:
    """Whether the numbers of the figure are those that the present sources and versions would make."""
    return figure.origin.fingerprint == numbers_fingerprint(figure.experiment.name, figure.origin.settings)


def _run(
    experiment: Experiment, settings: Mapping[str, Any], fingerprint: str, report: Report
) -> tuple[Numbers, Origin]:
    began = time.perf_counter()
    try:
        numbers = experiment.run(settings, report)
    except RuntimeError as error:
        _explain(experiment.name, error)
        raise
    seconds = time.perf_counter() - began
    return numbers, Origin(experiment.name, plain(settings), fingerprint, versions(), seconds)


def _explain(name: str, error: RuntimeError) -> None:
    """A simulation that the settings made impossible is a wrong input; its error says what to change."""
    from biasfree.dynamics import DivergenceError, UnfinishedError

    if isinstance(error, DivergenceError | UnfinishedError):
        raise ValueError(f"{name} cannot be run with these settings: {error}") from error


def _finish(experiment: Experiment, numbers: Numbers, origin: Origin, folder: Path, reused: bool) -> Figure:
    """Claims, tables and pictures: computed each time, written where they are missing or may have changed."""
    figure = Figure(experiment, origin, experiment.claims(numbers), experiment.tables(numbers), reused)
    fingerprint = figure_fingerprint(experiment.name, origin.settings)
    record = finished_record(folder) if reused else None
    if record is None or record["fingerprint"] != fingerprint:
        (folder / RECORD).unlink(missing_ok=True)  # it vouches for the pictures beside it
        _write_pictures(experiment, numbers, folder)
        _write_record(figure, fingerprint, folder)
    return figure


def finished_record(folder: Path) -> dict[str, Any] | None:
    """The record of a finished figure; None where there is none, or none that this version can read."""
    path, name = folder / RECORD, folder.name
    if not all(file.is_file() for file in (path, folder / f"{name}.png", folder / f"{name}.pdf")):
        return None
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:  # damaged; it is written anew
        return None
    return record if isinstance(record, dict) and record.get("format") == _FORMAT else None


def _write_pictures(experiment: Experiment, numbers: Numbers, folder: Path) -> None:
    """PNG and PDF; without the date, so that the same numbers give the same files."""
    picture = experiment.draw(numbers)
    for kind, dated in (("png", {}), ("pdf", {"CreationDate": None})):
        with replacing(folder / f"{experiment.name}.{kind}") as file:
            picture.savefig(file, format=kind, dpi=_DPI, metadata=dated)


def _write_record(figure: Figure, fingerprint: str, folder: Path) -> None:
    experiment, origin = figure.experiment, figure.origin
    record = {
        "format": _FORMAT,
        "figure": experiment.name,
        "section": experiment.section,
        "title": experiment.title,
        "caption": experiment.caption,
        "rebuilt": experiment.rebuilt,
        "deviations": list(experiment.deviations),
        "settings": origin.settings,
        "claims": [claim.record() for claim in figure.claims],
        "tables": [table.record() for table in figure.tables],
        "seconds": origin.seconds,
        "versions": origin.versions,
        "fingerprint": fingerprint,
    }
    with replacing(folder / RECORD) as file:
        file.write(json.dumps(record, indent=1, ensure_ascii=False, allow_nan=False).encode())
