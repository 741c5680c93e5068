"""The stages of a diagnosis: reports on growing parts of the data, until all are measured."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import replace

import numpy as np

from biasfree.data import Dataset
from biasfree.diagnostics.advice._answer import answer
from biasfree.diagnostics.advice._measurements import PROBES, Measurements
from biasfree.diagnostics.advice._reasons import reasons
from biasfree.diagnostics.advice._report import Report
from biasfree.diagnostics.advice._state import Thresholds, state_of
from biasfree.diagnostics.advice._study import chosen_pairs
from biasfree.diagnostics.advice._tables import tables

FIRST = 200  # samples of the first answer
_DIRECT = 1000  # samples up to which there is no first answer
#: The costly measurements, in their order, and what a terminal calls them.
_PARTS = {
    "score": "the model's outputs",
    "nonlinear": "nonlinear share",
    "competitors": "linear maps and a kernel machine",
    "symmetry": "symmetry of the data",
    "shares": "parts of the targets",
    "preparation": "preparation",
    "coverage": "theory",
    "peers": "networks trained for comparison",
}


def refined(
    whole: Measurements,
    thresholds: Thresholds,
    *,
    unseen: bool = False,
    compare: bool = False,
    watch: Callable[[Report], object] | None = None,
) -> Report:
    """The report on all samples; the last complete one if Ctrl-C ends it before."""
    report: Report | None = None
    try:
        for measured, note in _stages(whole, thresholds, compare):
            _measure(measured)
            report = _report(measured, thresholds, unseen, note)
            if note:
                _show("", f"From {len(measured.data or ()):,} samples: {report.answer}\n")
            if watch is not None:
                watch(report)
    except KeyboardInterrupt:
        if report is None:
            raise
        note = "interrupted: this is the last report that was complete."
        report = replace(report, notes=(note, *report.notes))
    finally:
        _show("")
    assert report is not None
    return report


def _stages(whole: Measurements, thresholds: Thresholds, compare: bool) -> Iterator[tuple[Measurements, str]]:
    """Measurements of some samples, with a note, and of all, then with the networks of `compare`."""
    data, task = whole.data, whole.task
    if data is not None and task is not None and len(data) > _DIRECT:
        chosen = chosen_pairs(data.x, FIRST, seed=whole.seed)
        flips = max(39, int(1 / thresholds.rejected_below) + 1)
        few = Dataset(data.x[chosen], data.y[chosen])
        targets = replace(task.rows(chosen), size=None)
        part = replace(whole, data=few, task=targets, flips=min(flips, whole.flips), brief=True)
        note = f"from {len(few):,} of the {len(data):,} samples, chosen at random (seed {whole.seed})."
        yield part, note
    yield whole, ""
    if compare:
        more = copy(whole)
        more.compare = True
        del more.peers
        yield more, ""


def _measure(measured: Measurements) -> None:
    """Make the costly measurements one after the other; what follows reads them."""
    samples = PROBES if measured.data is None else len(measured.data)
    for name, what in _PARTS.items():
        _show(f"measuring {what} on {samples:,} samples; Ctrl-C ends it")
        getattr(measured, name)


def _show(line: str, above: str = "") -> None:
    """Show a line in place of the last one, where stderr is a terminal, and text above it that stays."""
    if sys.stderr is not None and sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{above}{line[:110]}")
        sys.stderr.flush()


def _report(measured: Measurements, thresholds: Thresholds, unseen: bool, note: str) -> Report:
    state = state_of(measured, thresholds, unseen=unseen)
    return Report(
        answer=answer(state, measured),
        case=state.case,
        verdict=state.verdict,
        reasons=reasons(state, measured, thresholds),
        tables=tables(measured),
        thresholds=vars(thresholds),
        notes=(*([note] if note else []), *_notes(measured)),
        subject=measured.subject,
        data=measured.data,
    )


def _notes(measured: Measurements) -> tuple[str, ...]:
    notes = list(measured.notes)
    notes += [] if measured.subject is None else measured.subject.notes
    notes += [] if measured.task is None else measured.task.notes
    data = measured.data
    seen = measured.symmetry
    shares = measured.shares
    if data is None:
        return (
            *notes,
            f"no data were given: the function is measured on {PROBES} Gaussian inputs and their mirror "
            "images, and the residual of the targets is unknown.",
        )
    if measured.task is not None and measured.task.is_classes:
        read = f", and the outputs are read as {measured.reading}" if measured.subject is not None else ""
        notes.append(f'the targets are taken for classes{read}; task="regression" takes them for numbers.')
    if measured.study is not data and measured.study is not None:
        notes.append(
            "symmetry, parts of the targets and preparation are measured on a random subset of "
            f"{len(measured.study):,} of the {len(data):,} samples; scores and N use all."
        )
    if seen is not None and not seen.exact and seen.samples < len(data):
        notes.append(f"the test of Condition 3 searched {seen.samples:,} samples chosen at random.")
    if seen is not None and seen.copies > 1:
        notes.append(f"the data are {seen.copies} copies of one set: the test of Condition 3 uses one.")
    if seen is not None and seen.repeated:
        notes.append(
            f"{seen.repeated:,} of the {seen.samples:,} samples that the test of Condition 3 uses repeat "
            "another one. They count as independent; copies make p too small: leave them out."
        )
    if shares is not None and shares.samples < len(data):
        notes.append(f"odd and even shares are estimated on {shares.samples:,} samples chosen at random.")
    if measured.independent:
        notes.append(
            f"the {len(data)} samples in {data.dimensions} dimensions are linearly independent, so every "
            "function is linear on them. N is measured on them and their mirror images, and detects only "
            "the even part; use more samples to detect the odd part."
        )
    if np.any(np.all(data.targets == 0, axis=0)):
        notes.append("a target is zero on every sample.")
    return tuple(notes)
