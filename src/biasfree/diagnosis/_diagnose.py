"""The function `bf.diagnose`, for a model, its data, or both."""

from __future__ import annotations

from typing import Any

import numpy as np

from biasfree.arrays import non_negative, positive, whole
from biasfree.data import Dataset
from biasfree.diagnosis._measurements import PROBES, Measurements
from biasfree.diagnosis._report import Report
from biasfree.diagnosis._subject import Subject, dataset_of, subject_of
from biasfree.diagnosis._tables import tables
from biasfree.diagnosis._verdict import Thresholds, reasons, verdict


def diagnose(
    model: Any = None,
    data: Any = None,
    *,
    leak: float | None = None,
    nonlinear_above: float = 0.01,
    rejected_below: float = 0.05,
    residual_above: float = 0.01,
    flips: int = 199,
    seed: int = 0,
) -> Report:
    """Diagnose whether a model is effectively linear and whether data are symmetric.

    `model` is a `bf.Network`, a `torch.nn.Module`, a list of weights or any function of the samples; `data`
    is a `bf.Dataset` or a pair (x, y), with samples of any shape. At least one is needed. The verdict is

    - *nonlinear* if N > `nonlinear_above`, N = 1 − R² of the best linear map to the worst of the outputs;
    - otherwise *linear so far* if more than `residual_above` of the targets is not fitted and nothing keeps
      the model linear: Condition 3 is rejected (p < `rejected_below`, or most but not all samples have mirror
      images), or the model is not known to have two bias-free layers;
    - otherwise *effectively linear*.

    Without data, N is measured on Gaussian inputs, and the targets count as not fitted. Without a model, the
    verdict is about a two-layer bias-free network trained on the data from small initial weights.

    Reference: [ZSL25] Condition 3, Thm. 1, Thm. 5 (TMLR 8); verdict and thresholds are ours.
    """
    if model is None and data is None:
        raise ValueError("there is nothing to diagnose: pass a model, data, or both.")
    thresholds = Thresholds(
        positive("nonlinear_above", nonlinear_above),
        positive("rejected_below", rejected_below),
        positive("residual_above", residual_above),
    )
    dataset, shape = (None, None) if data is None else dataset_of(data)
    if leak is not None:
        leak = non_negative("leak", leak)
        if model is None:
            raise ValueError("leak needs a model; pass one.")
    subject = None if model is None else subject_of(model, dataset, leak=leak, shape=shape)
    _check_fit(subject, dataset)
    measured = Measurements(subject, dataset, whole("flips", flips), seed)
    return Report(
        verdict=verdict(measured, thresholds),
        reasons=reasons(measured, thresholds),
        tables=tables(measured),
        thresholds=thresholds.named(),
        notes=_notes(measured),
        subject=subject,
        data=dataset,
    )


def _check_fit(subject: Subject | None, data: Dataset | None) -> None:
    if subject is None:
        return
    network = subject.network
    if data is None:
        if network is None:
            raise ValueError(f"only the outputs of {subject.name} can be measured: pass data.")
        return
    if network is not None and network.sizes[0] != data.dimensions:
        raise ValueError(
            f"{subject.name} takes {network.sizes[0]} inputs, but the data have {data.dimensions} dimensions."
        )
    outputs = network.sizes[-1] if network is not None else subject.function(data.x[:1]).shape[1]
    if outputs != data.outputs:
        raise ValueError(
            f"{subject.name} has {outputs} outputs, but the data have {data.outputs} targets per sample."
        )


def _notes(measured: Measurements) -> tuple[str, ...]:
    notes = [] if measured.subject is None else list(measured.subject.notes)
    if measured.data is None:
        notes.append(
            f"no data were given: the function is measured on {PROBES} Gaussian inputs and their mirror "
            "images, and the residual of the targets is unknown."
        )
    if (
        measured.symmetry is not None
        and measured.data is not None
        and measured.symmetry.samples < len(measured.data)
    ):
        notes.append(
            f"the test of Condition 3 searched a random subset of {measured.symmetry.samples} samples; the "
            f"defects use all {len(measured.data)} samples, in the half-spaces found."
        )
    if (
        measured.shares is not None
        and measured.data is not None
        and measured.shares.samples < len(measured.data)
    ):
        notes.append(
            f"odd and even shares are estimated on a random subset of {measured.shares.samples} samples."
        )
    if measured.independent and measured.data is not None:
        notes.append(
            f"the {len(measured.data)} samples in {measured.data.dimensions} dimensions are linearly "
            "independent, so every function is linear on them. N is measured on them and their mirror "
            "images, and detects only the even part; use more samples to detect the odd part."
        )
    if measured.data is not None and np.any(np.all(measured.data.targets == 0, axis=0)):
        notes.append("a target is zero on every sample.")
    return tuple(notes)
