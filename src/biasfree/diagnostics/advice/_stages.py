"""The stages of a diagnosis: reports on growing parts of the data, until all are measured."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from biasfree.diagnostics.advice._answer import answer
from biasfree.diagnostics.advice._measurements import PROBES, Measurements
from biasfree.diagnostics.advice._reasons import reasons
from biasfree.diagnostics.advice._report import Report
from biasfree.diagnostics.advice._samples import Samples
from biasfree.diagnostics.advice._state import Thresholds, state_of
from biasfree.diagnostics.advice._subject import Subject
from biasfree.diagnostics.advice._tables import tables
from biasfree.diagnostics.advice._task import Task, task_of

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


@dataclass(frozen=True, eq=False)
class Request:
    """What to diagnose, and how."""

    subject: Subject | None
    samples: Samples | None
    thresholds: Thresholds
    flips: int
    seed: int
    task: str | None
    classes: Sequence[Any] | None
    unseen: bool
    compare: bool


def refined(request: Request, watch: Callable[[Report], object] | None = None) -> Report:
    """The report on all samples; the last complete one if Ctrl-C ends it before."""
    report: Report | None = None
    try:
        for one, last in _stages(request):
            report = one
            if not last and report.data is not None:
                _show("", f"From {len(report.data):,} samples: {report.answer}\n")
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


def _stages(request: Request) -> Iterator[tuple[Report, bool]]:
    """Reports on some samples and on all, then with the networks of `compare`; and whether it is the last."""
    samples = request.samples
    given = None if samples is None else task_for(request.subject, samples, request)
    if samples is not None and len(samples) > _DIRECT:
        flips = max(39, int(1 / request.thresholds.rejected_below) + 1)
        few = replace(request, samples=samples.some(FIRST, request.seed), flips=min(flips, request.flips))
        part = task_for(request.subject, few.samples, request, given)
        measured = _measured(few, part, brief=True)
        assert few.samples is not None
        note = f"from {len(few.samples):,} of the {len(samples):,} samples, chosen at random "
        note += f"(seed {request.seed})."
        yield _report(few, measured, note), False
    measured = _measured(request, given)
    yield _report(request, measured), not request.compare
    if request.compare:
        more = replace(measured, compare=True)
        known = {name: value for name, value in vars(measured).items() if name not in ("compare", "peers")}
        vars(more).update(known)
        _measure(more)
        yield _report(request, more), True


def _measured(request: Request, task: Task | None, *, brief: bool = False) -> Measurements:
    subject, samples = request.subject, request.samples
    data = None
    if samples is not None and task is not None:
        data = task.dataset(samples.x, _outputs(subject, samples))
    measured = Measurements(subject, data, request.flips, request.seed, task, brief=brief)
    _measure(measured)
    return measured


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


def _report(request: Request, measured: Measurements, note: str | None = None) -> Report:
    state = state_of(measured, request.thresholds, unseen=request.unseen)
    return Report(
        answer=answer(state, measured),
        case=state.case,
        verdict=state.verdict,
        reasons=reasons(state, measured, request.thresholds),
        tables=tables(measured),
        thresholds=vars(request.thresholds),
        notes=(*([] if note is None else [note]), *_notes(measured, request.samples)),
        subject=request.subject,
        data=measured.data,
    )


def _outputs(subject: Subject | None, samples: Samples | None) -> int | None:
    """The number of outputs of the model, None without one."""
    if subject is None or samples is None:
        return None
    if subject.network is not None:
        return subject.network.sizes[-1]
    return subject.function(samples.x[:2]).shape[1]


def task_for(
    subject: Subject | None, samples: Samples | None, request: Request, of_all: Task | None = None
) -> Task:
    """What the targets are; a part of the samples has the classes of all."""
    assert samples is not None
    outputs = _outputs(subject, samples)
    known = request.classes
    if known is None and subject is not None:
        known = subject.classes
    kind, task = None if subject is None else subject.kind, request.task
    if of_all is not None:
        if of_all.classes is None:
            task = "regression"
        elif samples.y.ndim == 1 or samples.y.shape[1:] == (1,):
            known = of_all.classes.tolist()
    found = task_of(samples.y, outputs=outputs, kind=kind, known=known, task=task)
    _check_outputs(subject, samples, found, outputs)
    return found


def _check_outputs(subject: Subject | None, samples: Samples, found: Task, outputs: int | None) -> None:
    if subject is None:
        return
    if found.numbers is not None and found.numbers.shape[1] != outputs:
        if found.numbers.shape[1] == 1 and samples.y.dtype.kind in "iu":
            raise ValueError(
                f"{subject.name} has {outputs} outputs, but the labels go from {samples.y.min()} to "
                f"{samples.y.max()}; labels must be below the number of outputs, or pass classes=."
            )
        raise ValueError(
            f"{subject.name} has {outputs} outputs, but the data have {found.numbers.shape[1]} targets per "
            "sample."
        )
    if found.classes is not None:
        count = len(found.classes)
        if outputs not in ((1, 2) if count == 2 else (count,)):
            raise ValueError(f"{subject.name} has {outputs} outputs, but y has {count} classes.")


def _notes(measured: Measurements, samples: Samples | None) -> tuple[str, ...]:
    notes = [] if samples is None else list(samples.notes)
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
