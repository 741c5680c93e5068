"""The function `bf.diagnose`, for a model, its data, or both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

from biasfree.arguments import public
from biasfree.arrays import affordable, non_negative, positive, whole
from biasfree.diagnostics.advice._measurements import Measurements
from biasfree.diagnostics.advice._report import Report
from biasfree.diagnostics.advice._samples import Samples, samples_of
from biasfree.diagnostics.advice._stages import refined
from biasfree.diagnostics.advice._state import Thresholds
from biasfree.diagnostics.advice._subject import Subject, subject_of, targets_for
from biasfree.trajectory import Trajectory


@public
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
    watch: Callable[[Report], object] | None = None,
) -> Report:
    """Diagnose whether a linear model would do as well, whether a model is linear, and what keeps it so.

    `model` is a `bf.Network`, a `torch.nn.Module`, a scikit-learn estimator, a list of weights or any
    function of the samples. `data` is a `bf.Dataset`, a pair (x, y), x with `y` as the third argument, a data
    frame with the name of its target column as `y`, a PyTorch Dataset or DataLoader, or the name of a file.
    Samples and outputs have any shape. At least one of model and data is needed. A `bf.Trajectory` stands for
    its last network.

    `report.answer` compares the model with linear maps and a kernel machine, which are fitted to some samples
    and tested on others: by R² for numbers, by accuracy and cross entropy for classes. Differences count if
    they exceed two standard errors and `gain_above`. `compare=True` also trains networks of the model's
    shape, without and with biases and with one layer more. `unseen=True` says that the model was not trained
    on these samples. The verdict is

    - *nonlinear* if N > `nonlinear_above`, N = 1 − R² of the best linear map to the worst of the outputs, or
      if that map in place of the model scores worse; *effectively affine* if an intercept makes N small;
    - otherwise *linear so far* if more than `residual_above` of the targets is not fitted and nothing keeps
      the model linear: Condition 3 is rejected (p < `rejected_below`, or most but not all samples have mirror
      images), or the model is not known to have two bias-free layers;
    - otherwise *effectively linear*.

    Main arguments: `model`, `data`, `y`, `compare`, `unseen`. Other arguments: `output` picks the output of a
    model that returns a tuple or a dict; `task` says whether targets are numbers ("regression") or classes;
    `classes` are the classes in the order of the outputs; `leak` is the slope of a list of weights; `flips`
    is the number of random flips of the test of symmetry; `watch` is called with every report on the way.

    Of more than 1 000 samples, some give a first answer, which a terminal shows and `watch` receives; Ctrl-C
    returns the last report that is complete, and its notes say so.

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
    whole("seed", seed, at_least=0)
    if leak is not None:
        leak = non_negative("leak", leak)
        if model is None:
            raise ValueError("leak needs a model; pass one.")
    if isinstance(model, Trajectory):
        model = model[-1]
    samples = None if data is None else samples_of(data, y, seed=seed)
    subject = None if model is None else subject_of(model, samples, leak=leak, output=output)
    _check_inputs(subject, samples)
    measured = Measurements(subject, None, flips, seed)
    if samples is not None:
        found, data = targets_for(subject, samples, task=task, classes=classes)
        measured = Measurements(subject, data, flips, seed, found, samples.notes)
    return refined(measured, thresholds, unseen=unseen, compare=compare, watch=watch)


def _check_flips(flips: int, rejected_below: float) -> None:
    affordable(f"{flips} flips", flips)
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
