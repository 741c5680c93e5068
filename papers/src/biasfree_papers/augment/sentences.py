"""Claims on augmentation by mirror images: theorems' bounds, and the papers' statements."""

from __future__ import annotations

import numpy as np

from biasfree.tables import Table
from biasfree_papers.augment.numbers import TASKS, VERSIONS
from biasfree_papers.experiment import Claim
from biasfree_papers.types import Numbers

NAMES = {"xor": "tilted XOR", "three": "three points", "separable": "separable"}
_HARD = ("xor", "three")
_ROUNDING = "rounding: f is a sum of H products of total size about 1 to 10, so 100 Hε of the loss"
_WHY = {
    "square": "L = L_lin + ⟨f_e²⟩/2 on mirrored data",
    "logistic": "f(±x) = ±a + e with a linear, and ½[ℓ(y(a + e)) + ℓ(y(a − e))] ≥ ℓ(ya) since ℓ is "
    "convex, so L ≥ the loss of the linear part",
}


def claims(numbers: Numbers) -> list[Claim]:
    """The theorems on mirrored data, then what happens without and with mirror images."""
    return [
        *(_floor_claim(numbers, loss) for loss in ("square", "logistic")),
        _split_claim(numbers),
        _mistake_claim(numbers),
        _unchanged_claim(numbers),
        *(_learned_claim(numbers, loss) for loss in ("square", "logistic")),
        _failed_claim(numbers),
        *_margin_claims(numbers),
    ]


def tables(numbers: Numbers) -> list[Table]:
    """Loss and accuracy at the end, task by task."""
    columns = (
        "task",
        "loss",
        "mirror images",
        "leak",
        "best linear",
        "median loss",
        "accuracy, worst",
        "best",
    )
    rows = [
        _row(numbers, task, loss, version, leak)
        for task, losses in TASKS.items()
        for loss in losses
        for version in VERSIONS
        for leak in np.unique(numbers["leaks"])
    ]
    return [Table("At the end of training", columns, tuple(rows))]


def _row(numbers: Numbers, task: str, loss: str, version: str, leak: float) -> tuple[object, ...]:
    part, chosen = f"{task}_{version}_{loss}", numbers["leaks"] == leak
    last, accuracy = numbers[f"{part}_loss"][chosen, -1], numbers[f"{part}_accuracy"][chosen]
    best, mirrored = float(numbers[f"{task}_{loss}_best"]), "yes" if version == "mirrored" else "no"
    return NAMES[task], loss, mirrored, leak, best, float(np.median(last)), accuracy.min(), accuracy.max()


def _floor_claim(numbers: Numbers, loss: str) -> Claim:
    lowest = [
        numbers[f"{task}_mirrored_{loss}_loss"].min(axis=1) - numbers[f"{task}_{loss}_best"] for task in _HARD
    ]
    return Claim(
        sentence=f"with mirror images the {loss} loss never falls below that of the best linear map, on "
        "tasks that no line separates (lowest loss less that)",
        source="derived here from [ZSL25] Thm. 1: mirrored data and the even part",
        kind="ours",
        identity=True,
        measured=tuple(np.concatenate(lowest)),
        bound=(-_rounding(numbers),),
        sense="at least",
        origin=f"{_WHY[loss]}; less {_ROUNDING}",
        seeds=tuple(numbers["seeds"]),
        each="runs",
    )


def _split_claim(numbers: Numbers) -> Claim:
    return Claim(
        sentence="with mirror images the square loss at the end is that of the linear part plus that of "
        "the even part (gap between the two sides)",
        source="derived here from [ZSL25] Thm. 1",
        kind="ours",
        identity=True,
        measured=tuple(np.concatenate([numbers[f"{task}_split"] for task in _HARD])),
        bound=(_rounding(numbers),),
        origin=_ROUNDING,
        seeds=tuple(numbers["seeds"]),
        each="runs",
    )


def _mistake_claim(numbers: Numbers) -> Claim:
    """f has the label's sign at x and −x only if the linear part does, so one sample is always wrong."""
    parts = [(task, loss) for task in _HARD for loss in TASKS[task]]
    measured = [numbers[f"{task}_mirrored_{loss}_accuracy"] for task, loss in parts]
    bound = [
        np.full(len(m), 1 - 1 / len(numbers[f"{t}_mirrored_y"]))
        for (t, _), m in zip(parts, measured, strict=True)
    ]
    return Claim(
        sentence="with mirror images at least one sample is misclassified, on tasks that no line "
        "separates (accuracy)",
        source="derived here from [ZSL25] Thm. 1",
        kind="ours",
        identity=True,
        measured=tuple(np.concatenate(measured)),
        bound=tuple(np.concatenate(bound)),
        origin="y f > 0 at x and −x means ya > |e|: all samples right would make the linear part a "
        "separating one, and there is none, since the best linear map has a finite logistic loss; so 1 − "
        "1/(number of samples)",
        seeds=tuple(numbers["seeds"]),
        each="runs",
    )


def _unchanged_claim(numbers: Numbers) -> Claim:
    one, other = numbers["max_margin"]
    return Claim(
        sentence="mirror images do not change the max-margin classifier (relative distance)",
        source="derived here: its constraints y w·x ≥ 1 are those of yx, the same at (−x, −y)",
        kind="ours",
        identity=True,
        measured=(float(np.linalg.norm(one - other) / np.linalg.norm(one)),),
        bound=(1e-10,),
        origin="rounding of the active-set method, 1e-12 in every constraint, times a hundred",
        seeds=tuple(numbers["seeds"]),
        each="tasks",
    )


def _learned_claim(numbers: Numbers, loss: str) -> Claim:
    return Claim(
        sentence=f"two tasks that no line separates are learned without mirror images, {loss} loss (accuracy "
        "at the end)",
        source="[ZSL25] Sec. 1.1 of v1: mirror images can make a network fail at what it learns without",
        kind="paper",
        basis="stated",
        measured=tuple(
            map(float, np.concatenate([numbers[f"{task}_plain_{loss}_accuracy"] for task in _HARD]))
        ),
        bound=(1.0,),
        sense="at least",
        origin="the paper gives no number and no task; we take every sample right",
        seeds=tuple(numbers["seeds"]),
        each="runs",
    )


def _failed_claim(numbers: Numbers) -> Claim:
    parts = [(task, loss) for task in _HARD for loss in TASKS[task]]
    excess = [
        numbers[f"{task}_mirrored_{loss}_loss"][:, -1] / numbers[f"{task}_{loss}_best"] - 1
        for task, loss in parts
    ]
    return Claim(
        sentence="with mirror images the same networks fail at both: they end as the best linear map (excess "
        "loss / its loss)",
        source="[ZSL25] Sec. 1.1 of v1: mirror images can make a network fail; Corollary 6",
        kind="paper",
        measured=tuple(np.concatenate(excess)),
        bound=(1e-2,),
        origin="the paper gives no number; we take a hundredth",
        seeds=tuple(numbers["seeds"]),
        each="runs",
    )


def _margin_claims(numbers: Numbers) -> list[Claim]:
    """On the separable task mirror images do no harm."""
    common = {
        "source": "Lyu et al. (2021); [ZSL25] Corollary 6",
        "kind": "paper",
        "seeds": tuple(numbers["seeds"]),
        "each": "runs",
    }
    return [
        Claim(
            sentence="on a separable task all samples are right with mirror images too (accuracy at the end)",
            measured=tuple(numbers["separable_mirrored_logistic_accuracy"]),
            bound=(1.0,),
            sense="at least",
            origin="every sample right",
            **common,
        ),
        Claim(
            sentence="there, with mirror images, the linear part of f turns to the max-margin classifier "
            "(angle at the end, degrees)",
            measured=tuple(numbers["angle_mirrored"]),
            bound=(float(numbers["angle_early"]),),
            origin="the papers are about t → ∞, approached as 1/ln t; we take the angle of β, "
            f"{float(numbers['angle_early']):.3g}°, where it starts; a linear network is "
            f"{float(numbers['angle_linear']):.3g}° away at that time (reduced flow)",
            **common,
        ),
        Claim(
            sentence="there, with mirror images, f is odd (share of its even part at the end)",
            measured=tuple(numbers["even_mirrored"]),
            bound=(1e-2,),
            origin="the papers give no number; we take a hundredth of the energy",
            **common,
        ),
    ]


def _rounding(numbers: Numbers) -> float:
    return float(100 * numbers["width"] * np.finfo(float).eps)
