"""The hypotheses of the results: each a value that measures its own defect, and is refused by name.

A result lists its hypotheses in a tuple `ASSUMES`; the function checks that list and `coverage` shows it, so
the two cannot disagree.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from biasfree.arrays import row_norms
from biasfree.data import Dataset
from biasfree.losses import Loss
from biasfree.networks import Network
from biasfree.theory.hypotheses._symmetry_defect import symmetry_defect, unmirrored_share
from biasfree.theory.parts._linear_loss import LEAST_SQUARE
from biasfree.theory.parts._rank_one import RankOne


class AssumptionError(ValueError):
    """A result was asked about something its hypotheses do not cover."""

    def __init__(self, hypothesis: str, what: str, *, defect: float, tolerance: float, remedy: str):
        self.hypothesis, self.defect, self.tolerance = hypothesis, float(defect), float(tolerance)
        super().__init__(
            f"{hypothesis} does not hold: {what} is {defect:.3g} "
            f"(tolerated: at most {tolerance:.3g}); {remedy}."
        )


@dataclass(frozen=True)
class Hypothesis:
    """What a result assumes: `defect` is 0 where it holds exactly and NaN where it has no meaning.

    `key` names its tolerance argument, `{key}_tolerance`, whose default is `tolerance`. One without a
    tolerance is part of the setting: without it the formulas have no meaning, so it cannot be opened.
    """

    key: str
    name: str
    measures: str
    defect: Callable[[Any, Any], float]
    remedy: str
    tolerance: float | None = None

    def check(self, network: Network | None, data: Dataset | None, tolerance: float | None = None) -> float:
        """The measured defect, or an `AssumptionError` where it is above the tolerance.

        A hypothesis about the data alone needs no network, one about the network no data.
        """
        tolerance = self.tolerance or 0.0 if tolerance is None else tolerance
        with np.errstate(all="ignore"):  # infinity and NaN are refused below
            defect = float(self.defect(network, data))
        if not defect <= tolerance:
            raise AssumptionError(
                self.name, self.measures, defect=defect, tolerance=tolerance, remedy=self.remedy
            )
        return defect


def check(
    hypotheses: Sequence[Hypothesis],
    network: Network,
    data: Dataset | None,
    tolerances: Mapping[str, float],
) -> dict[str, float]:
    """Every hypothesis in turn, its tolerance given as `{key}_tolerance`; returns the defects by key."""
    known = {f"{h.key}_tolerance": h.tolerance for h in hypotheses if h.tolerance is not None}
    for name in tolerances:
        if name not in known:
            defaults = ", ".join(f"{name}={value:g}" for name, value in known.items())
            raise TypeError(f"got an unexpected argument {name!r}; the tolerances here are {defaults}.")
    if data is not None:
        check_sizes(network, data)
    return {h.key: h.check(network, data, tolerances.get(f"{h.key}_tolerance")) for h in hypotheses}


def under(loss: Loss, hypotheses: Sequence[Hypothesis]) -> tuple[Hypothesis, ...]:
    """The hypotheses under one of the losses: second moments of a half-space suffice the square loss only."""
    return tuple(hypotheses) if loss.name == "square" else (*hypotheses, MIRROR)


def check_sizes(network: Network, data: Dataset) -> None:
    """Data of the network's dimensions."""
    if (data.dimensions, data.outputs) != (network.sizes[0], network.sizes[-1]):
        raise ValueError(
            f"the network takes {network.sizes[0]} inputs and gives {network.sizes[-1]} outputs, but the "
            f"data have {data.dimensions} dimensions and {data.outputs} outputs; match their sizes."
        )


def strength(data: Dataset) -> float:
    """s = |β|, also where its square would under- or overflow."""
    return float(row_norms(data.beta.reshape(1, -1))[0])


def whiteness(data: Dataset) -> float:
    """ν of Σ ≈ νI: Tr Σ/D."""
    return float(np.trace(data.sigma)) / data.dimensions


def _rank_one_defect(network: Network, data: Dataset) -> float:  # noqa: ARG001
    parts = RankOne.maybe(network)
    return np.nan if parts is None else parts.residual(network)


def _sign_defect(network: Network, data: Dataset) -> float:  # noqa: ARG001
    if network.leak == 1:
        return 0.0
    parts = RankOne.maybe(network)
    return np.nan if parts is None else abs(parts.imbalance)


def _hyperplane_defect(network: Network, data: Dataset) -> float:
    if network.leak == 1:
        return 0.0
    parts, size = RankOne.maybe(network), row_norms(data.x)
    if parts is None or data.dimensions != len(parts.r):
        return np.nan
    # A later crossing takes no time: on symmetric data the flow is the same on both sides.
    return float(np.mean((np.abs(data.x @ parts.r) <= 1e-12 * size) & (size > 0)))


def _white_defect(network: Network, data: Dataset) -> float:  # noqa: ARG001
    nu = whiteness(data)
    if nu < LEAST_SQUARE:
        return np.nan
    return float(np.linalg.norm(data.sigma - nu * np.eye(data.dimensions), ord=2)) / nu


def _small_defect(network: Network, data: Dataset) -> float:
    """What is left out of the slopes, at most c²u³|Σ|, against what is kept, csu; u is the larger norm.

    Either layer alone may be the large one: W₂ = 0 is no small network, W₂ grows at the rate cs|W₁|.
    """
    s, stiffness = strength(data), np.linalg.norm(data.sigma, ord=2)
    if s == 0 or stiffness < LEAST_SQUARE or network.depth != 2:
        return np.nan
    size = network.norms.max() * np.sqrt(stiffness / s)
    return float((1 + network.leak) / 2 * size**2)


def _target_defect(network: Network, data: Dataset) -> float:  # noqa: ARG001
    s = strength(data)
    size = np.sqrt(np.mean(data.targets**2)) * np.sqrt(np.trace(data.sigma))
    return float(size / s) if s > 0 else np.inf


_SIMULATE = "simulate such networks with bf.gradient_flow"

NO_BIASES = Hypothesis(
    "biases",
    "no biases (the setting of [ZSL25])",
    "the number of bias vectors",
    lambda network, _: len(network.biases or ()),
    "drop them with bf.Network(network.weights, network.leak); with a hidden bias none of the theory applies",
)
TWO_LAYERS = Hypothesis(
    "depth",
    "two layers (the setting of [ZSL25] Sec. 4)",
    "the number of layers more or fewer than two",
    lambda network, _: abs(network.depth - 2),
    f"{_SIMULATE}, or see bf.theory.deep_flow for deep networks",
)
ONE_OUTPUT = Hypothesis(
    "outputs",
    "one output (the setting of [ZSL25] Sec. 4)",
    "the number of outputs beyond one",
    lambda network, _: network.sizes[-1] - 1,
    f"{_SIMULATE}, or see bf.theory.linear_flow for linear networks of any number of outputs",
)
SETTING = (NO_BIASES, TWO_LAYERS, ONE_OUTPUT)

SYMMETRY = Hypothesis(
    "symmetry",
    "Condition 3 (TMLR 3), symmetric data,",
    "the symmetry defect of the data",
    lambda network, data: 0.0 if network.leak == 1 else symmetry_defect(data),
    "add the mirror images with bf.data.symmetrize(data), or simulate with bf.gradient_flow",
    tolerance=1e-8,
)
MIRROR = Hypothesis(
    "mirror",
    "Condition 3 (TMLR 3) with every mirror image, as the logistic loss needs it,",
    "the share of samples without a mirror image (−x, −y) of their own",
    lambda network, data: 0.0 if network.leak == 1 else unmirrored_share(data),
    "add the mirror images with bf.data.symmetrize(data), or simulate with bf.gradient_flow",
    tolerance=0.0,
)
RANK_ONE = Hypothesis(
    "rank_one",
    "Assumption 4 (TMLR 7), W₁ = W₂ᵀrᵀ with |r| = 1,",
    "the relative distance of W₁ from W₂ᵀrᵀ",
    _rank_one_defect,
    "use bf.theory.aligned(network, data) for small random initial weights, or bf.networks.rank_one",
    tolerance=1e-8,
)
SIGNS = Hypothesis(
    "signs",
    "Assumption 4 (TMLR 7), |W₂⁺| = |W₂⁻|,",
    "||W₂⁺|² − |W₂⁻|²|/|W₂|²",
    _sign_defect,
    "use bf.theory.aligned(network, data) for small random initial weights, or bf.networks.rank_one",
    tolerance=1e-8,
)
HYPERPLANE = Hypothesis(
    "hyperplane",
    "r·x ≠ 0 on the samples (Lemma 10 of v1)",
    "the share of samples with r·x = 0 to rounding",
    _hyperplane_defect,
    "turn r a little with bf.networks.rank_one, or simulate with bf.gradient_flow",
    tolerance=0.0,
)
WHITE = Hypothesis(
    "white",
    "white input, Σ = νI (Corollary 14 of v1)",
    "|Σ − νI|/ν",
    _white_defect,
    "whiten with bf.data.whiten(data), use bf.theory.reduced_flow (any Σ), or open white_tolerance=",
    tolerance=1e-8,
)
SMALL = Hypothesis(
    "small",
    "small initial weights (Theorem 13 of v1)",
    "cu²|Σ|/s, u the larger of |W₁| and |W₂|,",
    _small_defect,
    "start smaller (scale=), or simulate with bf.gradient_flow",
    tolerance=1e-2,
)
TARGET = Hypothesis(
    "target",
    "a target with a linear part, β = ⟨yx⟩ ≠ 0 (Corollary 14 and Theorem 13 of v1)",
    "√(⟨y²⟩TrΣ)/|β|",
    _target_defect,
    "no direction grows first: simulate with bf.gradient_flow, or use bf.theory.reduced_flow (any β)",
    tolerance=1e8,
)
LINEAR = Hypothesis(
    "linear",
    "a linear network, α = 1",
    "1 − α",
    lambda network, _: 1 - network.leak,
    "solve bf.theory.linear_twin(network) instead, or use bf.theory.reduced_flow for a ReLU network",
)
RELU = Hypothesis(
    "relu",
    "a ReLU network, α = 0",
    "α",
    lambda network, _: network.leak,
    "use bf.Network(network.weights, leak=0.0), or simulate with bf.gradient_flow",
)
EQUIVALENCE = (*SETTING, SYMMETRY, RANK_ONE, SIGNS, HYPERPLANE)
