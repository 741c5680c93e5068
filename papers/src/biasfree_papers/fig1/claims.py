"""Claims and tables of Fig. 1: the limits of two layers, and results over seeds."""

from __future__ import annotations

import numpy as np
import xarray

from biasfree.tables import Table
from biasfree_papers.experiment import Claim
from biasfree_papers.fig1.compute import KINDS
from biasfree_papers.shared.loss_levels import ACCURATE, accurate
from biasfree_papers.statements import observed, ours, paper, table

TASK_NAMES = {"six": "the six points", "g": "g on the circle"}
KIND_NAMES = {
    "two": "two bias-free layers",
    "two_biased": "two layers with biases",
    "three": "three bias-free layers",
    "three_biased": "three layers with biases",
}
LEARNED = 0.5  # of the least-squares loss
_ROUNDING = (
    "rounding, (H + P)ε: two evaluations of f, a sum of H products of total size at most 1, and of a mean "
    "over P samples, with half an ε per term"
)
_HALF = "a level of ours: a half; below 1 is out of reach of two bias-free layers"
_UNKNOWN = "measured here; what [ZSL25] TMLR Fig. 1 shows is not known to us"


def claims(n: xarray.Dataset) -> list[Claim | Table]:
    """What is proved of bias-free networks, then what is learned."""
    return [*_proved(n), *_learned(n), _losses(n), _flows(n)]


def _proved(n: xarray.Dataset) -> list[Claim]:
    two, rounding = n.sel(kind="two"), (n.width + n.samples) * np.finfo(float).eps
    six, g = map(float, n.floor)
    return [
        ours(
            "two bias-free layers never fall below the least-squares loss, on both tasks",
            lowest_loss_less_bound=two.loss.min("save") - n.floor,
            at_least=-rounding,
            source="[ZSL25] Thm. 1 and App. E.4",
            bound=f"{six:.6g} on the six points, by L = L_lin + ⟨f_e²⟩/2, and {g:.6g} on the circle, half "
            f"the certificate of two_layer_gap; less {_ROUNDING}",
            nature="identity",
            headline=True,
        ),
        ours(
            "at the end the loss of two bias-free layers is that of a linear network plus that of the even "
            "part of f, on both tasks",
            gap_between_the_two_sides=two.split,
            at_most=rounding,
            source="derived here from [ZSL25] Thm. 1: L = L_lin + ⟨f_e²⟩/2 on symmetric data",
            bound=_ROUNDING,
            nature="identity",
        ),
        ours(
            "a three-layer bias-free network is g",
            loss_on_the_circle=n.exact_loss,
            at_most=np.finfo(float).eps ** 2,
            source="[ZSL25] Sec. 3.2, Eq. 3",
            bound="targets are rounded once, to at most ε = 2.2e-16",
            nature="identity",
            each="networks",
        ),
        ours(
            "trained bias-free networks of two and three layers are homogeneous, f(ax) = a f(x) for a > 0",
            largest_relative_gap=_there(n.inhomogeneity.sel(kind=["two", "three"])),
            at_most=0.0,
            source="[ZSL25] Sec. 3",
            bound="exact for a = 1/8, 1/2, 2, 8, which floating point multiplies without rounding",
            nature="identity",
            each="runs",
        ),
    ]


def _there(values: xarray.DataArray) -> np.ndarray:
    """The values of the runs that there are: only one seed of three bias-free layers is descended."""
    return values.values[values.notnull().values]


def _learned(n: xarray.Dataset) -> list[Claim]:
    biased = [kind for kind, (_, has_biases) in KINDS.items() if has_biases]
    epochs = " and ".join(f"{count:d}" for count in n.epochs.sel(kind=biased)[0].values)
    return [
        paper(
            "two bias-free layers end at the least-squares map, on both tasks",
            excess_loss_over_least_squares=n["last"].sel(kind="two") / n.floor - 1,
            at_most=1e-3,
            source="[ZSL25] Corollary 6",
            bound="a level of ours: a thousandth",
        ),
        observed(
            "three bias-free layers learn both tasks better than two bias-free layers can, by exact gradient "
            "flow",
            last_loss_over_least_squares=flow_ratio(n),
            at_most=LEARNED,
            source=_UNKNOWN,
            bound=_HALF,
            headline=True,
            note=_notes(n),
        ),
        observed(
            "two and three layers with biases learn both tasks better than two bias-free layers can, after "
            f"{epochs} epochs",
            loss_over_least_squares=n["last"].sel(kind=biased) / n.floor,
            at_most=LEARNED,
            source=_UNKNOWN,
            bound=_HALF,
            headline=True,
        ),
    ]


def flow_ratio(n: xarray.Dataset) -> xarray.DataArray:
    """The last loss of every flow over least squares; NaN for one not followed, or not accurately."""
    return (n.flow_last / n.floor).where(accurate(n.flow_error, n.flow_drift))


def _notes(n: xarray.Dataset) -> str:
    """Flows that fail, and what descent of the wider network says where it does not learn the task."""
    ratio, notes = flow_ratio(n), []
    if unknown := int(ratio.isnull().sum()):
        notes.append(
            f"{unknown} of {ratio.size} flows could not be followed to the end within the error {ACCURATE:g}."
        )
    if (ratio > LEARNED).any():
        notes.append(
            "What three bias-free layers can express they need not learn; 1 is the least-squares loss."
        )
    for task, name in TASK_NAMES.items():
        one = n.sel(task=task, kind="three")
        if (left := float(one.long_last / one.floor)) > LEARNED:
            notes.append(
                f"On {name}, descent of one network of width {int(n.width)} is at {left:.3g} after "
                f"{int(one.long_epochs)} epochs."
            )
    return " ".join(notes)


def _losses(n: xarray.Dataset) -> Table:
    last = n["last"]
    return table(
        "Loss after so many epochs",
        over=("task", "kind"),
        columns={
            "task": _words(n.task, TASK_NAMES),
            "network": _words(n.kind, KIND_NAMES),
            "seeds": last.count("seed"),
            "epochs": n.epochs,
            "best": last.min("seed"),
            "median": last.median("seed"),
            "worst": last.max("seed"),
            "below half of least squares": (last < LEARNED * n.floor).sum("seed"),
            "first seed, epochs": n.long_epochs,
            "its loss": n.long_last,
        },
    )


def _flows(n: xarray.Dataset) -> Table:
    return table(
        "Exact flows of three bias-free layers",
        over=("task", "seed"),
        columns={
            "task": _words(n.task, TASK_NAMES),
            "seed": n.seed,
            "last time": n.flow_end,
            "loss then": n.flow_last,
            "error of the simulator": n.flow_error,
            "error that conserved norms show": n.flow_drift,
            "events": n.flow_events,
            "end": n.flow_stopped,
        },
    )


def _words(axis: xarray.DataArray, names: dict[str, str]) -> xarray.DataArray:
    return axis.copy(data=[names[str(one)] for one in axis.values])
