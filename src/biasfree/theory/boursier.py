"""Orthogonal inputs, square loss: two groups of neurons, two escapes, the interpolator of least norm."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.theory.assumptions import RELU, SETTING, SMALL, Hypothesis, check, check_sizes

if TYPE_CHECKING:
    from jaxtyping import Float


def alignment_directions(data: Dataset) -> tuple[Float[np.ndarray, "D"], Float[np.ndarray, "D"]]:
    """The directions that neurons turn to while the outputs are small: D₊ if a > 0, −D₋ if a < 0.

    D± = (1/P)·Σ_{±y>0} yx. A neuron that is inactive on some samples of its sign turns to the sum over the
    others: on orthogonal inputs it never becomes active on them.

    Assumes: one output; of the network, what `escape_times` does.
    Reference: Boursier et al. (2022); [ZSL25] names it among the neighbours.
    """
    y = _targets(data)
    return np.maximum(y, 0.0) @ data.x / len(y), np.minimum(y, 0.0) @ data.x / len(y)


def minimum_norm_interpolator(data: Dataset, *, orthogonal_tolerance: float = 1e-8) -> Network:
    """The ReLU network of least norm that fits every sample: one neuron for each sign of the targets.

    n± = √(Σ_{±y>0} y_i²/|x_i|²),  w± = n±^{−1/2}·Σ_{±y>0} (|y_i|/|x_i|²)x_i,  a± = ±√n±, so that |w±| = |a±|.

    Assumes: orthogonal inputs (orthogonal_tolerance=1e-8); one output; a target that is not zero.
    Reference: Boursier et al. (2022); the limit of training as the initial weights → 0.
    """
    norms = _sign_norms(data, orthogonal_tolerance)
    y, rows, outer = _targets(data), [], []
    for sign, size in zip((1, -1), norms, strict=True):
        if size > 0:
            share = np.maximum(sign * y, 0.0) / np.sum(data.x**2, axis=1)
            rows.append(share @ data.x / np.sqrt(size))
            outer.append(sign * np.sqrt(size))
    if not rows:
        raise ValueError("every target is zero, and so is the network of least norm; give other targets.")
    return Network((np.array(rows), np.array([outer])), leak=0.0)


def interpolator_norm(data: Dataset, *, orthogonal_tolerance: float = 1e-8) -> float:
    """½|θ|² = ½(|W₁|² + |W₂|²) of the ReLU network of least norm that fits every sample.

    ½|θ|² = n₊ + n₋, n± = √(Σ_{±y>0} y_i²/|x_i|²).

    Assumes: orthogonal inputs (orthogonal_tolerance=1e-8); one output.
    Reference: Boursier et al. (2022).
    """
    return float(_sign_norms(data, orthogonal_tolerance).sum())


def escape_times(network: Network, data: Dataset, **tolerances: float) -> Float[np.ndarray, "2"]:
    """The times at which the positive and the negative targets are learnt, to leading order as γ → 0.

    t± = ln(√n±/γ±)/|D±|, γ±² = Σ_h((w_h·D̂ + |a_h|)/2)² over the neurons of that sign active on all its
    samples, D̂ = ±D±/|D±|: when the growing part γ±²e^{2|D±|t} of the map has the size n± of the one it
    ends at. The paper has ln(1/γ)/|D±|; both are off by a time that stays bounded as γ → 0. Infinite for a
    sign that no target has. The paper's loss has no ½: its times are half of these.

    Assumes: two layers, one output, no biases; α = 0; orthogonal inputs (orthogonal_tolerance=1e-8);
    |a_h| ≥ |w_h| (dominated_tolerance=1e-8); for each sign a neuron active on all its samples
    (cover_tolerance=0, the signs without); small initial weights (small_tolerance=1e-2).
    Reference: Boursier et al. (2022); n± and γ± in the logarithm are derived here.
    """
    check(ASSUMES, network, data, tolerances)
    norms = _sign_norms(data, np.inf)
    return np.array(
        [
            _escape_time(network, data, sign, direction, size)
            for sign, direction, size in zip((1, -1), alignment_directions(data), norms, strict=True)
        ]
    )


def covers_all_samples(network: Network, data: Dataset) -> bool:
    """Whether for each sign of the targets some neuron of that sign is active on all its samples.

    Assumes: two layers, one output.
    Reference: Boursier et al. (2022), on which their limit rests; it takes a width of about 2ⁿ.
    """
    check_sizes(network, data)
    return _uncovered(network, data) == 0


def _targets(data: Dataset) -> Float[np.ndarray, "P"]:
    if data.outputs != 1:
        raise ValueError(f"this is about one output, got {data.outputs}; pass each y[:, k] alone.")
    return data.targets[:, 0]


def _sign_norms(data: Dataset, tolerance: float) -> Float[np.ndarray, "2"]:
    """(n₊, n₋), n±² = Σ_{±y>0} y_i²/|x_i|²."""
    y = _targets(data)
    ORTHOGONAL_INPUTS.check(None, data, tolerance)
    ratio = y / np.linalg.norm(data.x, axis=1)
    return np.array([np.linalg.norm(ratio[sign * y > 0]) for sign in (1, -1)])


def _escape_time(network: Network, data: Dataset, sign: int, direction: np.ndarray, size: float) -> float:
    rate = float(np.linalg.norm(direction))
    if rate == 0:
        return np.inf
    covering = covering_neurons(network, data, sign)
    first, second = network.weights[0][covering], np.abs(network.weights[1][0][covering])
    gamma = np.linalg.norm(first @ (sign * direction / rate) + second) / 2
    return float((np.log(size) / 2 - np.log(gamma)) / rate)


def covering_neurons(network: Network, data: Dataset, sign: int) -> np.ndarray:
    """Which neurons of this sign are active on all samples of this sign."""
    samples = data.x[sign * data.targets[:, 0] > 0]
    return (sign * network.weights[1][0] > 0) & (network.weights[0] @ samples.T > 0).all(axis=1)


def _uncovered(network: Network, data: Dataset) -> float:
    """How many signs of the targets have no neuron active on all their samples."""
    if network.depth != 2 or network.sizes[-1] != 1 or data.dimensions != network.sizes[0]:
        return np.nan
    present = [sign for sign in (1, -1) if (sign * data.targets > 0).any()]
    return sum(not covering_neurons(network, data, sign).any() for sign in present)


def _largest_cosine(network: Network, data: Dataset) -> float:  # noqa: ARG001
    size = np.linalg.norm(data.x, axis=1, keepdims=True)
    if not size.all():
        return np.nan
    # D + 1 samples cannot all be orthogonal, so among very many not every pair need be compared
    unit = (data.x / size)[: max(data.dimensions + 1, 2000)]
    return float(np.abs(unit @ unit.T - np.diag(np.sum(unit**2, axis=1))).max())


def _dominance_defect(network: Network, data: Dataset) -> float:  # noqa: ARG001
    if network.depth != 2 or network.sizes[-1] != 1:
        return np.nan
    inner, outer = np.linalg.norm(network.weights[0], axis=1), np.abs(network.weights[1][0])
    larger = inner > outer  # elsewhere both may be zero
    return float(np.max((inner[larger] - outer[larger]) / inner[larger], initial=0.0))


ORTHOGONAL_INPUTS = Hypothesis(
    "orthogonal",
    "orthogonal inputs (Boursier et al. 2022, Frei et al. 2022)",
    "the largest |cos(x_i, x_j)|",
    _largest_cosine,
    "draw such data with bf.data.orthogonal, or simulate with bf.gradient_flow",
    tolerance=1e-8,
)
DOMINATED = Hypothesis(
    "dominated",
    "|a_h| ≥ |w_h| for every neuron (Boursier et al. 2022), which keeps the sign of a_h,",
    "the largest 1 − |a_h|/|w_h|",
    _dominance_defect,
    "start from bf.networks.balanced, or simulate with bf.gradient_flow",
    tolerance=1e-8,
)
COVER = Hypothesis(
    "cover",
    "for each sign of the targets a neuron active on all its samples (Boursier et al. 2022)",
    "the number of signs without",
    _uncovered,
    "widen the network (about 2ⁿ neurons for n samples), or simulate with bf.gradient_flow",
    tolerance=0.0,
)
ASSUMES = (*SETTING, RELU, ORTHOGONAL_INPUTS, DOMINATED, COVER, SMALL)
