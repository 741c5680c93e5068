"""The gap between the two escapes of deep leaky networks: it grows as ln(1/γ), the escapes as 1/γ."""

from __future__ import annotations

import numpy as np

from biasfree.arguments import public
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.theory.deep._early_flow import LINEAR_TARGET
from biasfree.theory.hypotheses import (
    NO_BIASES,
    ONE_OUTPUT,
    SYMMETRY,
    TARGET,
    WHITE,
    Hypothesis,
    check,
    result,
)
from biasfree.theory.parts._moments import strength, whiteness


@public
@result("three leaky layers learn a linear target in two steps, whose gap is logarithmic", lambda: ASSUMES)
def deep_leaky_gap(network: Network, data: Dataset, **tolerances: float) -> float:
    """The time T₋ − T₊ between the escapes of the two halves of three leaky layers, up to O(1).

    T₋ − T₊ = [(1−α)²/(1+α²)]·ln(v/γ)/ρ, ρ = ½αsv(1−α²)²/(1+α⁴), v³ = |w*|(1+α²)/(1+α⁴), γ the geometric
    mean of the norms of the layers. Paths of the second half pass through neurons that the first has trained,
    so they grow exponentially. T₊ grows as 1/γ, hence T₋/T₊ → 1. What is of order 1 may amount to three
    decades of γ, and seeds whose halves nearly tie reach the law only below γ = 1e-5. The difference of the
    gaps of the same weights times two factors has an error that tends to 0.

    Assumes: three layers, one output, no biases, 0 < α < 1, the square loss; Condition 3
    (symmetry_tolerance=1e-8), a linear target (linear_target_tolerance=1e-8) that is not 0
    (target_tolerance=1e8), white input (white_tolerance=1e-8); small weights (norm_tolerance=0.1).
    Reference: derived here, for [ZSL25] App. F (TMLR Conjecture 11).

    Args:
        network: The initial weights.
        data: The data.
        tolerances: `symmetry_tolerance`, `linear_target_tolerance`, `target_tolerance`, `white_tolerance`,
            `norm_tolerance`.

    Raises:
        AssumptionError: A hypothesis does not hold.
    """
    check(ASSUMES, network, data, tolerances)
    alpha = network.leak
    s = strength(data)
    v = _learned_norm(alpha, data)
    rate = alpha * s * v * (1 - alpha**2) ** 2 / (2 * (1 + alpha**4))
    return float((1 - alpha) ** 2 / (1 + alpha**2) * (np.log(v) - _log_scale(network)) / rate)


def _learned_norm(alpha: float, data: Dataset) -> float:
    """v, the norm of each layer of the half that has been learned."""
    return float(np.cbrt(strength(data) / whiteness(data) * (1 + alpha**2) / (1 + alpha**4)))


def _log_scale(network: Network) -> float:
    """ln γ."""
    return float(np.mean(np.log(network.norms)))


def _norm_defect(network: Network, data: Dataset) -> float:
    grows = strength(data) > 0 and whiteness(data) > 0 and network.norms.all()
    if network.depth != 3 or not grows:
        return np.nan
    return float(np.exp(_log_scale(network)) / _learned_norm(network.leak, data))


EXACTLY_THREE = Hypothesis(
    "depth",
    "three layers",
    "the difference of the number of layers from three",
    lambda network, _: abs(network.depth - 3),
    "simulate other depths with bf.gradient_flow",
)
LEAKY = Hypothesis(
    "leaky",
    "a leak between 0 and 1",
    "the number of its limits, 0 and 1, that the leak is",
    lambda network, _: float(network.leak in (0, 1)),
    "use bf.theory.deep_escape_times for α = 0 and bf.theory.modes_flow for α = 1",
)
SMALL_LAYERS = Hypothesis(
    "norm",
    "small initial weights",
    "γ/v, v the norm of a trained layer,",
    _norm_defect,
    "use a smaller scale=, or simulate with bf.gradient_flow",
    tolerance=0.1,
)
ASSUMES: tuple[Hypothesis, ...] = (
    NO_BIASES,
    EXACTLY_THREE,
    ONE_OUTPUT,
    LEAKY,
    SYMMETRY,
    LINEAR_TARGET,
    TARGET,
    WHITE,
    SMALL_LAYERS,
)
