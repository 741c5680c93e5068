"""The hypotheses that several results share: the setting of [ZSL25], its conditions and assumptions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from biasfree.data import Dataset, Population
from biasfree.losses import Loss
from biasfree.networks import Network
from biasfree.theory.hypotheses._hypothesis import Hypothesis
from biasfree.theory.hypotheses._symmetry_defect import symmetry_defect, unmirrored_share
from biasfree.theory.parts._hyperplanes import on_hyperplanes, share_on_hyperplane
from biasfree.theory.parts._linear_loss import LEAST_SQUARE
from biasfree.theory.parts._moments import (
    largest_variance,
    mean_square,
    strength,
    trace,
    white_defect,
    whiteness,
)
from biasfree.theory.parts._rank_one import RankOne


def under(loss: Loss, hypotheses: Sequence[Hypothesis]) -> tuple[Hypothesis, ...]:
    """The hypotheses under a loss: only for the square loss do second moments of half-spaces suffice."""
    return tuple(hypotheses) if loss.name == "square" else (*hypotheses, MIRROR)


def _rank_one_defect(network: Network, data: Dataset | Population) -> float:  # noqa: ARG001
    parts = RankOne.maybe(network)
    return np.nan if parts is None else parts.residual(network)


def _direction_defect(network: Network, data: Dataset | Population) -> float:  # noqa: ARG001
    parts = RankOne.maybe(network)
    if parts is None:
        return np.nan
    first = network.weights[0] / np.abs(network.weights[0]).max()
    away = first - np.outer(parts.neurons, parts.neurons @ first)
    return float(np.linalg.norm(away) / np.linalg.norm(first))


def _sign_defect(network: Network, data: Dataset | Population) -> float:  # noqa: ARG001
    if network.leak == 1:
        return 0.0
    parts = RankOne.maybe(network)
    return np.nan if parts is None else abs(parts.imbalance)


def _hyperplane_defect(network: Network, data: Dataset | Population) -> float:
    if network.leak == 1:
        return 0.0
    parts = RankOne.maybe(network)
    if parts is None:
        return np.nan
    return 0.0 if isinstance(data, Population) else share_on_hyperplane(parts.r, data)


def _small_defect(network: Network, data: Dataset | Population) -> float:
    """The neglected part of the velocity, at most c²u³|Σ|, over the kept part, csu; u is the larger norm.

    Either layer may be the larger one: W₂ = 0 alone is not small, since W₂ grows at the rate cs|W₁|.
    """
    s = strength(data)
    stiffness = largest_variance(data)
    if s == 0 or stiffness < LEAST_SQUARE or network.depth != 2:
        return np.nan
    size = network.norms.max() * np.sqrt(stiffness / s)
    return float((1 + network.leak) / 2 * size**2)


def _target_defect(network: Network, data: Dataset | Population) -> float:  # noqa: ARG001
    s = strength(data)
    size = np.sqrt(mean_square(data)) * np.sqrt(trace(data))
    return float(size / s) if s > 0 else np.inf


def _kinked(network: Network, data: Dataset) -> float:
    """The number of pairs of neuron and sample with w_h·x_i = 0 to rounding and a_h y_i > 0; ReLU only."""
    if (network.depth, network.sizes[0], network.sizes[-1], data.outputs) != (2, data.dimensions, 1, 1):
        return np.nan
    if network.leak > 0:
        return 0.0
    pushed = np.outer(np.sign(network.weights[1][0]), np.sign(data.targets[:, 0])) > 0
    return float(np.count_nonzero(on_hyperplanes(network, data) & pushed))


_SIMULATE = "simulate such networks with bf.gradient_flow"

NO_BIASES = Hypothesis(
    "biases",
    "no biases (the setting of [ZSL25])",
    "the number of bias vectors",
    lambda network, _: len(network.biases or ()),
    "drop them with bf.Network(network.weights, network.leak); no result covers a hidden bias",
)
TWO_LAYERS = Hypothesis(
    "depth",
    "two layers (the setting of [ZSL25] Sec. 4)",
    "the difference of the number of layers from two",
    lambda network, _: abs(network.depth - 2),
    f"{_SIMULATE}, or use bf.theory.deep_flow for deep networks",
)
ONE_OUTPUT = Hypothesis(
    "outputs",
    "one output (the setting of [ZSL25] Sec. 4)",
    "the number of outputs beyond one",
    lambda network, _: network.sizes[-1] - 1,
    f"{_SIMULATE}, or use bf.theory.linear_flow for linear networks of any number of outputs",
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
    "Condition 3 (TMLR 3) with every mirror image",
    "the share of samples without their own mirror image (−x, −y)",
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
ONE_DIRECTION = Hypothesis(
    "rank_one",
    "Assumption 4 (TMLR 7) but for |r| = 1, W₁ = W₂ᵀvᵀ,",
    "the relative distance of W₁ from W₂ᵀvᵀ",
    _direction_defect,
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
    "rotate r slightly with bf.networks.rank_one, or simulate with bf.gradient_flow",
    tolerance=0.0,
)
WHITE = Hypothesis(
    "white",
    "white input, Σ = νI (Corollary 14 of v1)",
    "|Σ − νI|/ν",
    lambda _, data: np.nan if whiteness(data) < LEAST_SQUARE else white_defect(data),
    "whiten with bf.data.whiten(data), use bf.theory.reduced_flow (any Σ), or relax white_tolerance=",
    tolerance=1e-8,
)
SMALL = Hypothesis(
    "small",
    "small initial weights (Theorem 13 of v1)",
    "cu²|Σ|/s, u the larger of |W₁| and |W₂|,",
    _small_defect,
    "use a smaller scale=, or simulate with bf.gradient_flow",
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
LABELS = Hypothesis(
    "labels",
    "labels −1 and +1 (logistic loss)",
    "the share of other targets",
    lambda _, data: float(np.mean(~np.isin(data.targets, (-1.0, 1.0)))),
    "relabel y, as 2*y - 1 does for 0 and 1, or use the square loss and bf.theory.least_squares",
)
KINKS = Hypothesis(
    "kinks",
    "no neuron exactly on the hyperplane of a sample of its sign, where the flow is not unique,",
    "the number of such pairs of neuron and sample",
    _kinked,
    "perturb the weights, or relax kinks_tolerance= for σ′(0) = 0: such neurons stay there, as under "
    "bf.gradient_descent, while under bf.gradient_flow they may leave",
    tolerance=0.0,
)
EQUIVALENCE = (*SETTING, SYMMETRY, RANK_ONE, SIGNS, HYPERPLANE)
