"""Making one figure: numbers are computed or reused; claims, tables and pictures are written beside them."""

from __future__ import annotations

import io
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from biasfree.tables import Table, as_json
from biasfree.versions import versions
from biasfree_papers.experiment import Claim, Experiment
from biasfree_papers.reproduction.fingerprint import figure_fingerprint, numbers_fingerprint
from biasfree_papers.reproduction.storage import (
    KINDS,
    Origin,
    content,
    finished_record,
    load_numbers,
    make_folder,
    save_numbers,
    save_record,
    stored_numbers,
)
from biasfree_papers.settings import Report

if TYPE_CHECKING:
    import xarray

_DPI = 200


@dataclass(frozen=True)
class Figure:
    """A finished figure: the origin of its numbers, claims, tables, and whether numbers were reused."""

    experiment: Experiment
    origin: Origin
    claims: list[Claim]
    tables: list[Table]
    reused: bool


def make(
    experiment: Experiment, settings: Mapping[str, Any], out: Path, report: Report, *, anew: bool = False
) -> Figure:
    """Make a figure in the folder out/NAME; numbers stored there are reused if nothing has changed.

    `anew` ignores stored numbers. Claims and pictures are renewed if any source has changed.
    """
    folder = out / experiment.name
    make_folder(folder)
    fingerprint = numbers_fingerprint(experiment, settings)
    stored = None if anew else stored_numbers(folder)
    if stored is not None and stored[1].fingerprint == fingerprint:
        return _finish(experiment, *stored, folder, reused=True, redraw=False)
    numbers, origin = _run(experiment, settings, fingerprint, report)
    save_numbers(folder, numbers, origin)
    return _finish(experiment, numbers, origin, folder, reused=False, redraw=True)


def draw(experiment: Experiment, out: Path) -> Figure:
    """Renew the claims and pictures of a figure from its stored numbers, whatever their fingerprint."""
    folder = out / experiment.name
    if not folder.is_dir():
        raise ValueError(
            f"{out} has no numbers of {experiment.name}; make them with `biasfree run {experiment.name}`."
        )
    return _finish(experiment, *load_numbers(folder), folder, reused=True, redraw=True)


def is_current(figure: Figure) -> bool:
    """Whether the numbers of the figure have the fingerprint of the present sources and versions."""
    return figure.origin.fingerprint == numbers_fingerprint(figure.experiment, figure.origin.settings)


def _run(
    experiment: Experiment, settings: Mapping[str, Any], fingerprint: str, report: Report
) -> tuple[xarray.Dataset, Origin]:
    began = time.perf_counter()
    try:
        numbers = experiment.compute(settings, report)
    except RuntimeError as error:
        _explain(experiment.name, error)
        raise
    seconds = time.perf_counter() - began
    return numbers, Origin(
        experiment.name, as_json(settings), fingerprint, versions(), seconds, content(numbers)
    )


def _explain(name: str, error: RuntimeError) -> None:
    """Raise ValueError for errors due to settings or JAX_PLATFORMS, whose messages say what to change."""
    from biasfree.dynamics import DivergenceError, UnfinishedError

    if isinstance(error, DivergenceError | UnfinishedError):
        raise ValueError(f"{name} cannot be run with these settings: {error}") from error
    if "initialize backend" in str(error):
        raise ValueError(f"JAX has no device to run {name} on: {error}") from error


def _finish(
    experiment: Experiment,
    numbers: xarray.Dataset,
    origin: Origin,
    folder: Path,
    *,
    reused: bool,
    redraw: bool,
) -> Figure:
    """Compute claims and tables; write them and the pictures if they are missing or a source has changed."""
    figure = Figure(experiment, origin, experiment.claims(numbers), experiment.tables(numbers), reused)
    fingerprint = figure_fingerprint(experiment, origin.settings)
    stored = None if redraw else finished_record(folder)
    if stored is None or stored["fingerprint"] != fingerprint:
        save_record(folder, _record(figure, fingerprint), _pictures(experiment, numbers), origin)
    return figure


def _pictures(experiment: Experiment, numbers: xarray.Dataset) -> dict[str, bytes]:
    """PNG and PDF without a date, so that the same numbers give the same files."""
    picture, drawn = experiment.draw(numbers), {}
    for kind in KINDS:
        buffer = io.BytesIO()
        picture.savefig(
            buffer, format=kind, dpi=_DPI, metadata={"CreationDate": None} if kind == "pdf" else {}
        )
        drawn[kind] = buffer.getvalue()
    return drawn


def _record(figure: Figure, fingerprint: str) -> dict[str, Any]:
    experiment, origin = figure.experiment, figure.origin
    return {
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
