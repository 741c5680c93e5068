"""The function `bf.diagnose`, for a model, its data, or both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from biasfree.arrays import non_negative, positive, whole
from biasfree.diagnosis._answer import answer
from biasfree.diagnosis._measurements import PROBES, Measurements
from biasfree.diagnosis._reasons import reasons
from biasfree.diagnosis._report import Report
from biasfree.diagnosis._samples import Samples, samples_of
from biasfree.diagnosis._state import Thresholds, state_of
from biasfree.diagnosis._subject import Subject, subject_of
from biasfree.diagnosis._tables import tables
from biasfree.diagnosis._task import Task, task_of


def diagnose(
    model: Any = None,
    data: Any = None,
    y: Any = None,
    *,
    output: int | str | None = None,
    task: Literal["regression", "classification"] | None = None,
    classes: Sequence[Any] | None = None,
    unseen: bool = False,
    compare: bool = False,
    leak: float | None = None,
    nonlinear_above: float = 0.01,
    rejected_below: float = 0.05,
    residual_above: float = 0.01,
    gain_above: float = 0.005,
    flips: int = 199,
    seed: int = 0,
) -> Report:
    """Diagnose whether a linear model would do as well, whether a model is linear, and what keeps it so.

    `model` is a `bf.Network`, a `torch.nn.Module`, a scikit-learn estimator, a list of weights or any
    function
    of the samples. `data` is a `bf.Dataset`, a pair (x, y), x with `y` as the third argument, a data frame
    with
    the name of its target column as `y`, a PyTorch Dataset or DataLoader, or the name of a file. Samples and
    outputs have any shape. At least one of model and data is needed.

    `report.answer` compares the model with linear maps and a kernel machine, which are fitted to some samples
    and tested on others: by R² for numbers, by accuracy and cross entropy for classes. Differences count if
    they exceed two standard errors and `gain_above`. `compare=True` also trains networks of the model's
    shape,
    without and with biases and with one layer more. `unseen=True` says that the model was not trained on
    these
    samples. The verdict is

    - *nonlinear* if N > `nonlinear_above`, N = 1 − R² of the best linear map to the worst of the outputs;
      *effectively affine* if an intercept makes N small;
    - otherwise *linear so far* if more than `residual_above` of the targets is not fitted and nothing keeps
      the model linear: Condition 3 is rejected (p < `rejected_below`, or most but not all samples have mirror
      images), or the model is not known to have two bias-free layers;
    - otherwise *effectively linear*.

    Main arguments: `model`, `data`, `y`, `compare`, `unseen`. Other arguments: `output` picks the output of a
    model that returns a tuple or a dict; `task` says whether targets are numbers ("regression") or classes;
    `classes` are the classes in the order of the outputs; `leak` is the slope of a list of weights; `flips`
    is
    the number of random flips of the test of symmetry.

    Without data, N is measured on Gaussian inputs, and the targets count as not fitted. Without a model, the
    verdict is about a two-layer bias-free network trained on the data from small initial weights.

    Reference: [ZSL25] Condition 3, Thm. 1, Thm. 5 (TMLR 8); answer, verdict and thresholds are ours.
    """
    if model is None and data is None:
        raise ValueError("there is nothing to diagnose: pass a model, data, or both.")
    thresholds = Thresholds(
        positive("nonlinear_above", nonlinear_above),
        positive("rejected_below", rejected_below),
        positive("residual_above", residual_above),
        non_negative("gain_above", gain_above),
    )
    _check_flips(whole("flips", flips), thresholds.rejected_below)
    if leak is not None:
        leak = non_negative("leak", leak)
        if model is None:
            raise ValueError("leak needs a model; pass one.")
    samples = None if data is None else samples_of(data, y, seed=seed)
    subject = None if model is None else subject_of(model, samples, leak=leak, output=output)
    _check_inputs(subject, samples)
    return report_on(
        subject, samples, thresholds, flips=flips, seed=seed, task=task, classes=classes, unseen=unseen,
        compare=compare,
    )  # fmt: skip


def report_on(
    subject: Subject | None,
    samples: Samples | None,
    thresholds: Thresholds,
    *,
    flips: int,
    seed: int,
    task: str | None,
    classes: Sequence[Any] | None,
    unseen: bool,
    compare: bool,
) -> Report:
    """The report on these samples."""
    given = None if samples is None else task_for(subject, samples, task, classes)
    outputs = _outputs(subject, samples)
    dataset = None if samples is None or given is None else given.dataset(samples.x, outputs)
    measured = Measurements(subject, dataset, flips, seed, given, compare)
    state = state_of(measured, thresholds, unseen=unseen)
    return Report(
        answer=answer(state, measured),
        case=state.case,
        verdict=state.verdict,
        reasons=reasons(state, measured, thresholds),
        tables=tables(measured),
        thresholds=thresholds.named(),
        notes=_notes(measured, samples),
        subject=subject,
        data=dataset,
    )


def _check_flips(flips: int, rejected_below: float) -> None:
    if 1 / (flips + 1) >= rejected_below:
        raise ValueError(
            f"flips={flips} can never reject symmetry: the least p-value is 1/{flips + 1} = "
            f"{1 / (flips + 1):.3g}, "
            f"not below rejected_below={rejected_below:g}; use at least {int(1 / rejected_below)} flips."
        )


def _check_inputs(subject: Subject | None, samples: Samples | None) -> None:
    if subject is None:
        return
    network = subject.network
    if samples is None:
        if network is None:
            raise ValueError(f"only the outputs of {subject.name} can be measured: pass data.")
        return
    d = samples.x.shape[1]
    if network is not None and network.sizes[0] != d:
        raise ValueError(f"{subject.name} takes {network.sizes[0]} inputs, but the data have {d} dimensions.")


def _outputs(subject: Subject | None, samples: Samples | None) -> int | None:
    """The number of outputs of the model, None without one."""
    if subject is None or samples is None:
        return None
    if subject.network is not None:
        return subject.network.sizes[-1]
    return subject.function(samples.x[:2]).shape[1]


def task_for(
    subject: Subject | None, samples: Samples, task: str | None, classes: Sequence[Any] | None
) -> Task:
    """The task that these targets are for this model; raises ValueError where its outputs do not fit."""
    outputs = _outputs(subject, samples)
    known = classes if classes is not None or subject is None else subject.classes
    found = task_of(
        samples.y, outputs=outputs, kind=None if subject is None else subject.kind, known=known, task=task
    )
    if subject is not None and found.numbers is not None and found.numbers.shape[1] != outputs:
        if found.numbers.shape[1] == 1 and samples.y.dtype.kind in "iu":
            raise ValueError(
                f"{subject.name} has {outputs} outputs, but the labels go from {samples.y.min()} to "
                f"{samples.y.max()}; labels must be below the number of outputs, or pass classes=."
            )
        raise ValueError(
            f"{subject.name} has {outputs} outputs, but the data have {found.numbers.shape[1]} targets per "
            "sample."
        )
    if found.is_classes and subject is not None and found.classes is not None:
        count = len(found.classes)
        if outputs not in ((1, 2) if count == 2 else (count,)):
            raise ValueError(f"{subject.name} has {outputs} outputs, but y has {count} classes.")
    return found


def _notes(measured: Measurements, samples: Samples | None) -> tuple[str, ...]:
    notes = [] if samples is None else list(samples.notes)
    notes += [] if measured.subject is None else measured.subject.notes
    notes += [] if measured.task is None else measured.task.notes
    data, seen, shares = measured.data, measured.symmetry, measured.shares
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
            f"symmetry, parts of the targets and preparation are measured on a random subset of "
            f"{len(measured.study):,} of the {len(data):,} samples; scores and N use all."
        )
    if seen is not None and not seen.exact and seen.samples < len(data):
        notes.append(f"the test of Condition 3 searched {seen.samples:,} samples chosen at random.")
    if shares is not None and shares.samples < len(data):
        notes.append(f"odd and even shares are estimated on {shares.samples:,} samples chosen at random.")
    if measured.independent:
        notes.append(
            f"the {len(data)} samples in {data.dimensions} dimensions are linearly "
            "independent, so every function is linear on them. N is measured on them and their mirror "
            "images, and detects only the even part; use more samples to detect the odd part."
        )
    if np.any(np.all(data.targets == 0, axis=0)):
        notes.append("a target is zero on every sample.")
    return tuple(notes)
