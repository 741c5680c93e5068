"""Claims and tables of Fig. 1: the limits of two layers, and results over seeds."""

from __future__ import annotations

import numpy as np

from biasfree.tables import Table
from biasfree_papers.experiment import Claim
from biasfree_papers.fig1.numbers import KINDS, TASKS
from biasfree_papers.shared.loss_levels import ACCURATE, accurate
from biasfree_papers.types import Numbers

NAMES = {"six": "the six points", "g": "g on the circle"}
KIND_NAMES = {
    "two": "two bias-free layers",
    "two_biased": "two layers with biases",
    "three": "three bias-free layers",
    "three_biased": "three layers with biases",
}
_BOUNDS = {
    "six": "4/9, the least-squares loss, by L = L_lin + ⟨f_e²⟩/2",
    "g": "half the certificate of two_layer_gap",
}
_HALF = 0.5  # of the least-squares loss
_ROUNDING = "rounding: f is a sum of H products of total size about 1, so 10 Hε of the loss"


def claims(numbers: Numbers) -> list[Claim]:
    """What is proved of bias-free networks, then what is learned."""
    return [
        *(_floor_claim(numbers, task) for task in TASKS),
        _split_claim(numbers),
        _exact_claim(numbers),
        _homogeneity_claim(numbers),
        *(_least_squares_claim(numbers, task) for task in TASKS),
        *(claim for task in TASKS for claim in _learned_claims(numbers, task)),
    ]


def tables(numbers: Numbers) -> list[Table]:
    """The last losses of every kind of network on both tasks."""
    columns = (
        "task", "network", "draws", "epochs", "best", "median", "worst", "below half of least squares",
        "first draw, epochs", "its loss",
    )  # fmt: skip
    rows = tuple(_row(numbers, task, kind) for task in TASKS for kind in KINDS)
    flows = (
        "task", "seed", "last time", "loss then", "error of the simulator", "error that conserved norms show",
        "events", "end",
    )  # fmt: skip
    followed = tuple(row for task in TASKS for row in _flow_rows(numbers, task))
    return [
        Table("Loss after so many epochs", columns, rows),
        Table("Exact flows of three bias-free layers", flows, followed),
    ]


def _flow_rows(numbers: Numbers, task: str) -> list[tuple[object, ...]]:
    names = ("end", "last", "error", "drift", "events", "stopped")
    parts = (numbers[f"{task}_flow_{name}"].tolist() for name in names)
    return [(NAMES[task], *row) for row in zip(numbers["seeds"].tolist(), *parts, strict=True)]


def _row(numbers: Numbers, task: str, kind: str) -> tuple[object, ...]:
    last = numbers[f"{task}_{kind}_loss"][:, -1]
    learned = int(np.sum(last < numbers[f"{task}_floor"] / 2))
    spread = float(last.min()), float(np.median(last)), float(last.max())
    epochs = int(numbers[f"{task}_{kind}_epochs"][0])
    first = int(numbers[f"{task}_{kind}_long_epochs"]), float(numbers[f"{task}_{kind}_long_loss"][-1])
    return NAMES[task], KIND_NAMES[kind], len(last), epochs, *spread, f"{learned} of {len(last)}", *first


def _floor_claim(numbers: Numbers, task: str) -> Claim:
    """Two bias-free layers never get below the least-squares loss."""
    floor = float(numbers[f"{task}_floor"])
    return Claim(
        sentence=f"two bias-free layers never fall below their bound on {NAMES[task]} (lowest loss less "
        "bound)",
        source="[ZSL25] Thm. 1 and App. E.4",
        kind="ours",
        identity=True,
        measured=tuple(numbers[f"{task}_two_loss"].min(axis=1) - floor),
        bound=(-_rounding(numbers),),
        sense="at least",
        origin=f"the bound is {floor:.6g}: {_BOUNDS[task]}; less {_ROUNDING}",
        seeds=tuple(numbers["seeds"]),
    )


def _split_claim(numbers: Numbers) -> Claim:
    return Claim(
        sentence="at the end the loss of two bias-free layers is that of a linear network plus that of "
        "the even part of f (gap between the two sides)",
        source="derived here from [ZSL25] Thm. 1: L = L_lin + ⟨f_e²⟩/2 on symmetric data",
        kind="ours",
        identity=True,
        measured=tuple(np.concatenate([numbers[f"{task}_two_split"] for task in TASKS])),
        bound=(_rounding(numbers),),
        origin=_ROUNDING,
        seeds=tuple(numbers["seeds"]),
        each="runs",
    )


def _exact_claim(numbers: Numbers) -> Claim:
    return Claim(
        sentence="a three-layer bias-free network is g: its loss on the circle",
        source="[ZSL25] Sec. 3.2, Eq. 3",
        kind="ours",
        identity=True,
        measured=(float(numbers["exact_loss"]),),
        bound=(float(np.finfo(float).eps) ** 2,),
        origin="targets are rounded once, to at most ε = 2.2e-16",
        seeds=tuple(numbers["seeds"]),
        each="networks",
    )


def _homogeneity_claim(numbers: Numbers) -> Claim:
    """f(ax) = a f(x) survives training, to the last bit for powers of two."""
    defects = [numbers[f"{task}_{kind}_inhomogeneity"] for task in TASKS for kind in ("two", "three")]
    return Claim(
        sentence="bias-free networks of two and three layers stay homogeneous, f(ax) = a f(x) for a > 0, "
        "when trained (largest relative gap)",
        source="[ZSL25] Sec. 3",
        kind="ours",
        identity=True,
        measured=tuple(np.concatenate(defects)),
        bound=(0.0,),
        origin="exact for a = 1/8, 1/2, 2, 8, which floating point multiplies without rounding",
        seeds=tuple(numbers["seeds"]),
        each="runs",
    )


def _least_squares_claim(numbers: Numbers, task: str) -> Claim:
    floor = float(numbers[f"{task}_floor"])
    return Claim(
        sentence=f"two bias-free layers end at the least-squares map on {NAMES[task]} (excess loss / "
        "least squares)",
        source="[ZSL25] Corollary 6",
        kind="paper",
        measured=tuple(numbers[f"{task}_two_loss"][:, -1] / floor - 1),
        bound=(1e-3,),
        origin="the paper gives no number; we take a thousandth",
        seeds=tuple(numbers["seeds"]),
    )


def _learned_claims(numbers: Numbers, task: str) -> list[Claim]:
    biased = [_learned_claim(numbers, task, kind) for kind in ("two_biased", "three_biased")]
    return [biased[0], _flow_claim(numbers, task), biased[1]]


def _flow_claim(numbers: Numbers, task: str) -> Claim:
    """The exact flow of every seed; one that was not followed, or not accurately, counts as a failure."""
    last, error, drift = (numbers[f"{task}_flow_{name}"] for name in ("last", "error", "drift"))
    ratio = np.where(accurate(error, drift), last / float(numbers[f"{task}_floor"]), np.nan)
    unknown, missed = int(np.isnan(ratio).sum()), bool((ratio > _HALF).any())
    notes = [
        f"{unknown} of {ratio.size} flows could not be followed to the end within the error {ACCURATE:g}."
        if unknown
        else "",
        "What three bias-free layers can express they need not learn; 1 is the least-squares loss."
        if missed
        else "",
        _descended(numbers, task),
    ]
    return Claim(
        sentence=f"three bias-free layers learn {NAMES[task]} better than two bias-free layers can, by exact "
        "gradient flow (last loss / least squares)",
        source="measured here; what [ZSL25] TMLR Fig. 1 shows is not known to us",
        kind="observed",
        measured=tuple(ratio),
        bound=(_HALF,),
        origin="below 1 is out of reach of two bias-free layers, and we take a half",
        seeds=tuple(numbers["seeds"]),
        note=" ".join(filter(None, notes)),
    )


def _descended(numbers: Numbers, task: str) -> str:
    """What descent of the wider network says, where it does not learn the task."""
    ratio = float(numbers[f"{task}_three_long_loss"][-1] / numbers[f"{task}_floor"])
    epochs, width = int(numbers[f"{task}_three_long_epochs"]), int(numbers["width"])
    if ratio <= _HALF:
        return ""
    return f"Descent of one network of width {width} is at {ratio:.3g} after {epochs} epochs."


def _learned_claim(numbers: Numbers, task: str, kind: str) -> Claim:
    """What is out of reach of two bias-free layers is learned by another network."""
    floor, last = float(numbers[f"{task}_floor"]), numbers[f"{task}_{kind}_loss"][:, -1]
    epochs, most = map(int, numbers[f"{task}_{kind}_epochs"])
    when = "at the end" if epochs == most else f"after {epochs} epochs"
    return Claim(
        sentence=f"{KIND_NAMES[kind]} learn {NAMES[task]} better than two bias-free layers can (loss "
        f"{when} / least squares)",
        source="measured here; what [ZSL25] TMLR Fig. 1 shows is not known to us",
        kind="observed",
        measured=tuple(last / floor),
        bound=(_HALF,),
        origin="below 1 is out of reach of two bias-free layers, and we take a half",
        seeds=tuple(numbers["seeds"]),
    )


def _rounding(numbers: Numbers) -> float:
    return float(10 * numbers["width"] * np.finfo(float).eps)
