"""Claims and tables on high-dimensional samples."""

from __future__ import annotations

import numpy as np

from biasfree.tables import Table
from biasfree_papers.experiment import Claim
from biasfree_papers.lai2026 import sentences_law
from biasfree_papers.lai2026.models import KINDS
from biasfree_papers.lai2026.sentences_law import FITTED, MODELS
from biasfree_papers.types import Numbers


def claims(numbers: Numbers) -> list[Claim]:
    """Four that are derived, the paper's law, and what was seen besides."""
    ours = [_made_of(numbers), _within(numbers), _control(numbers), _kick(numbers)]
    return [*ours, *sentences_law.claims(numbers), _shortest(numbers)]


def tables(numbers: Numbers) -> list[Table]:
    """Medians over draws and numbers of samples, for every kind and d/n; and exponents over ranges of d/n."""
    columns = (
        "targets", "d/n", "√(n/d)/2", "two neurons to X⁺y", "network to X⁺y", "two neurons to ReLU "
        "interpolator",
        "ReLU interpolator to X⁺y", "two neurons that interpolate", "networks that do", "largest stable rank "
        "of a sign",
    )  # fmt: skip
    rows = [_row(numbers, i, j) for i in range(len(KINDS)) for j in range(len(numbers["ratios"]))]
    title = "relative distances, medians over draws and numbers of samples; of the stable rank too"
    return [Table(title, columns, tuple(rows)), sentences_law.exponents(numbers)]


def _made_of(numbers: Numbers) -> Claim:
    defects = np.maximum(numbers["two_defect"], numbers["wide_defect"])
    return _ours(
        numbers,
        sentence="in the span of the samples v − X⁺y is −X⁺(s + y − f): all of the distance is what neurons "
        "are silent on, s_i = Σ a_h σ(−w_h·x_i), and what is not fitted (relative defect, the larger of both "
        "models)",
        source="derived here: σ(z) = z + σ(−z), for any two-layer weights in the span of the samples",
        measured=defects,
        bound=numbers["rounding"],
        origin="rounding: machine epsilon times the terms of the sums, times the condition number of X",
    )


def _within(numbers: Numbers) -> Claim:
    return _ours(
        numbers,
        sentence="so |v − X⁺y| lies between |s + y − f|/√λ_max and |s + y − f|/√λ_min + |v⊥|, λ the "
        "eigenvalues of the Gram matrix, v⊥ the part of v across the samples (value over upper bound or "
        "lower bound over value, the larger, of both models)",
        source="derived here from the identity before",
        measured=np.max([_outside(numbers, model) for model in MODELS], axis=0),
        bound=1 + numbers["rounding"],
        origin="1, and rounding as before",
    )


def _outside(numbers: Numbers, model: str) -> np.ndarray:
    """By which factor a distance is above its upper bound or below its lower one; below 1 where it is not."""
    value = numbers[f"{model}_linear"]
    return np.maximum(value / numbers[f"{model}_high"], numbers[f"{model}_low"] / value)


def _control(numbers: Numbers) -> Claim:
    return Claim(
        sentence="on orthonormal samples neurons that start active on the samples of their sign alone end at "
        "X⁺y (relative distance)",
        source="derived here; Boursier et al. 2022 for the flow",
        kind="ours",
        measured=tuple(numbers["control_own"]),
        bound=tuple(numbers["control_bound"]),
        origin="initial outputs γ and (1 − η/n)^steps, which are not fitted, and rounding",
        seeds=(int(numbers["seeds"][0]),),
        each="steps",
    )


def _kick(numbers: Numbers) -> Claim:
    off = np.abs(numbers["control_every"] - numbers["kicks"])
    return Claim(
        sentence="there neurons that start active on all samples end at (1 + η/n)X⁺y: descent keeps its "
        "first step on the samples that then are silent (|distance − η/n|)",
        source="derived here: the first step moves v± by ±(η/n)Σ y_i x_i, and what is silent stays",
        kind="ours",
        measured=tuple(off),
        bound=tuple(numbers["control_bound"]),
        origin="initial outputs γ and (1 − η/n)^(steps − 1), which are not fitted, and rounding",
        seeds=(int(numbers["seeds"][0]),),
        each="steps",
    )


def _shortest(numbers: Numbers) -> Claim:
    return Claim(
        sentence="the ReLU interpolator of least norm is found (certified relative distance from the "
        "shortest neurons)",
        source="the certificate is derived here: |v − v*|² ≤ λ·slack + λ*·violation for a strictly convex "
        "quadratic programme",
        kind="observed",
        measured=tuple(numbers["relu_error"].ravel()),
        bound=(1e-6,),
        origin="a level, not derived: squares are certified to rounding, so that √ε ≈ 1.5e-8 times a factor "
        "that grows with n and the condition number is to be expected",
        seeds=tuple(numbers["seeds"]),
        each="runs",
    )


def _ours(
    numbers: Numbers, *, sentence: str, source: str, measured: np.ndarray, bound: np.ndarray, origin: str
) -> Claim:
    """An identity, or a bound that follows from it, on every run."""
    return Claim(
        sentence=sentence,
        source=source,
        kind="ours",
        identity=True,
        measured=tuple(measured.ravel()),
        bound=tuple(bound.ravel()),
        origin=origin,
        seeds=tuple(numbers["seeds"]),
        each="runs",
    )


def _row(numbers: Numbers, i: int, j: int) -> tuple[object, ...]:
    ratio = float(numbers["ratios"][j])
    names = ("two_linear", "wide_linear", "two_relu", "relu_linear")
    return (
        KINDS[i],
        ratio,
        0.5 / ratio**0.5,
        *(float(np.median(numbers[name][i, :, j])) for name in names),
        *(f"{(numbers[f'{model}_loss'][i, :, j] < FITTED).mean():.0%}" for model in MODELS),
        float(np.median(numbers["wide_rank"][i, :, j])),
    )
