"""Orthogonal inputs, square loss: alignment, escape times, and the norm of the least interpolator."""

from __future__ import annotations

import numpy as np

from biasfree.arrays import Float, row_norms
from biasfree.data import Dataset
from biasfree.diagnostics import largest_cosine
from biasfree.networks import Network
from biasfree.theory.hypotheses import KINKS, RELU, SETTING, Hypothesis, check, check_sizes
from biasfree_papers.shared.early_growth import grown


def alignment_directions(data: Dataset) -> tuple[Float[np.ndarray, "D"], Float[np.ndarray, "D"]]:
    """The directions to which neurons align while outputs are small: D₊ for a > 0, and −D₋ for a < 0.

    D± = (1/P)·Σ_{±y>0} yx. A neuron that is inactive on some samples of its sign aligns with the sum over the
    others: on orthogonal inputs it never becomes active on them. Exact up to rounding. On other inputs
    neurons go elsewhere, to the directions of `bf.theory.extremal_directions`.

    Assumes: orthogonal inputs, to 1e-8; one output; for the network, the hypotheses of
    `escape_times`.
    Reference: Boursier et al. (2022); [ZSL25] names it among the neighbors.
    """
    y = one_target(data)
    ORTHOGONAL_INPUTS.check(None, data)
    return np.maximum(y, 0.0) @ data.x / len(y), np.minimum(y, 0.0) @ data.x / len(y)


def interpolator_norm(data: Dataset) -> float:
    """½|θ|² = ½(|W₁|² + |W₂|²) of the ReLU network of least norm that fits every sample.

    ½|θ|² = n₊ + n₋, n± = √(Σ_{±y>0} y_i²/|x_i|²): one neuron per sign of the targets, along
    Σ_{±y>0} (|y_i|/|x_i|²)x_i. Exact up to rounding.

    Assumes: orthogonal inputs, to 1e-8; one output.
    Reference: Boursier et al. (2022); the limit of training as the initial weights → 0.
    """
    ORTHOGONAL_INPUTS.check(None, data)
    return float(_sign_norms(data).sum())


def escape_times(network: Network, data: Dataset, **tolerances: float) -> Float[np.ndarray, "2"]:
    """The times at which the positive and the negative targets are learned, to leading order as γ → 0.

    t± = ln(√n±/γ±)/|D±|, γ±² = Σ_hγ_h² over the neurons of that sign that are active on all its samples: at
    t± the growing part γ±²e^{2|D±|t} of the map reaches its final size n±. γ_h = (w_h·D̂ + |a_h|)/2,
    D̂ = ±D±/|D±|, for a neuron that is active on no sample of the other sign. Neurons that first deactivate
    on such samples are accounted for, exactly as γ → 0. Infinite for a sign that no target has. The paper has
    ln(1/γ)/|D±|, and its loss has no ½, so its times are half of these.

    At t±, Σ y f = ½Σ y² over the samples of the sign, up to terms that vanish with γ if their inputs have
    equal lengths, and otherwise up to a time shift that stays bounded as γ → 0; never earlier by more than
    ln(2|D±|n±P/Σy²)/(2|D±|).

    Assumes: two layers, one output, no biases; α = 0; orthogonal inputs (orthogonal_tolerance=1e-8);
    |a_h| ≥ |w_h| (dominated_tolerance=1e-12); for each sign a neuron active on all its samples
    (cover_tolerance=0, the number of signs without); no neuron exactly on the hyperplane of a sample of its
    sign (kinks_tolerance=0, the number of such pairs; if relaxed, σ′(0) = 0 and they stay there, as under
    gradient descent); small initial weights (small_tolerance=1e-2); until t± neurons that are active on only
    some samples of their sign fit little of them (ahead_tolerance=0.1, the largest fraction of a target).
    Reference: Boursier et al. (2022); n± and γ± in the logarithm, and the last hypothesis, are derived here.
    """
    hypotheses = (*SETTING, RELU, ORTHOGONAL_INPUTS, DOMINATED, COVER, KINKS, SMALL, AHEAD)
    check(hypotheses, network, data, tolerances)
    return _escape_times(network, data)


def covers_all_samples(network: Network, data: Dataset) -> bool:
    """Whether each sign of the targets has a neuron, a_h of that sign, that is active on all its samples.

    A neuron exactly on the hyperplane of a sample is not active on it, σ′(0) = 0.

    Assumes: two layers, one output.
    Reference: Boursier et al. (2022), on which their limit rests; it takes a width of about 2ⁿ.
    """
    check_sizes(network, data)
    for hypothesis in SETTING[1:]:
        hypothesis.check(network, data)
    return _uncovered(network, data) == 0


def one_target(data: Dataset) -> Float[np.ndarray, "P"]:
    """The targets of data with one output; others are refused."""
    if data.outputs != 1:
        raise ValueError(f"the data must have one output, got {data.outputs}; pass each y[:, k] separately.")
    return data.targets[:, 0]


def _sign_norms(data: Dataset) -> Float[np.ndarray, "2"]:
    """(n₊, n₋), n±² = Σ_{±y>0} y_i²/|x_i|²."""
    y = one_target(data)
    ratio = y / row_norms(data.x)
    return row_norms(np.array([np.where(sign * y > 0, ratio, 0.0) for sign in (1, -1)]))


def _escape_times(network: Network, data: Dataset) -> Float[np.ndarray, "2"]:
    """t₊ and t₋, infinite for a sign without covering neurons or without targets."""
    norms, phase = _sign_norms(data), grown(network, data)
    found = np.full(2, np.inf)
    for k, sign in enumerate((1, -1)):
        covering = _covering(network, data, sign)
        if norms[k] > 0 and covering.any():
            log_gamma = np.logaddexp.reduce(2 * phase.log_gamma[covering]) / 2
            found[k] = (np.log(norms[k]) / 2 - log_gamma) / phase.rates[covering].max()
    return found


def _covering(network: Network, data: Dataset, sign: int) -> np.ndarray:
    samples = data.x[sign * data.targets[:, 0] > 0]
    return (sign * network.weights[1][0] > 0) & (network.weights[0] @ samples.T > 0).all(axis=1)


def _uncovered(network: Network, data: Dataset) -> float:
    """The number of signs of the targets without a neuron that is active on all their samples."""
    if network.depth != 2 or network.sizes[-1] != 1 or data.dimensions != network.sizes[0]:
        return np.nan
    present = [sign for sign in (1, -1) if (sign * data.targets > 0).any()]
    return sum(not _covering(network, data, sign).any() for sign in present)


def _ahead(network: Network, data: Dataset) -> float:
    """The largest fraction of a target that partly active neurons have fitted when covering neurons escape.

    Along D_S the map of a neuron is γ_h²e^{2|D_S|t}D̂_S, and D̂_S·x_i = y_i|x_i|²/(P|D_S|) for i in S.
    """
    if not two_layers(network, data) or _uncovered(network, data) > 0:
        return np.nan
    times, phase = _escape_times(network, data), grown(network, data)
    shares = [0.0]
    for sign, time in zip((1, -1), times, strict=True):
        partial = (sign * network.weights[1][0] > 0) & ~_covering(network, data, sign)
        if np.isfinite(time) and partial.any():
            shares.append(float(phase.shares(partial, np.full(len(partial), time)).max()))
    return max(shares)


def two_layers(network: Network, data: Dataset) -> bool:
    """Whether a network has two layers and one output, and the sizes of the data."""
    sizes = (network.depth, network.sizes[0], network.sizes[-1], data.outputs)
    return sizes == (2, data.dimensions, 1, 1)


def _dominance_defect(network: Network, data: Dataset) -> float:  # noqa: ARG001
    if network.depth != 2 or network.sizes[-1] != 1:
        return np.nan
    inner, outer = row_norms(network.weights[0]), np.abs(network.weights[1][0])
    larger = inner > outer  # elsewhere both may be zero
    return float(np.max((inner[larger] - outer[larger]) / inner[larger], initial=0.0))


def _small_defect(network: Network, data: Dataset) -> float:
    """The largest change of the force by outputs |f(x_i)| ≤ ½(|W₁|² + |W₂|²)|x_i|, over the least |y||x|/P.

    The norm of both layers counts: a layer that is zero grows from the other.
    """
    y, size = data.targets[:, 0], row_norms(data.x)
    if not two_layers(network, data) or not y.any() or not size.any():
        return np.nan
    norm = np.hypot(*(row_norms(w.reshape(1, -1))[0] for w in network.weights))
    with np.errstate(divide="ignore"):
        least = np.min((np.abs(y) * (size / size.max()))[y != 0])
        return float((norm / np.sqrt(least) * np.sqrt(size.max())) ** 2 / 2)


ORTHOGONAL_INPUTS = Hypothesis(
    "orthogonal",
    "orthogonal inputs (Boursier et al. 2022, Frei et al. 2022)",
    "the largest |cos(x_i, x_j)|",
    lambda _, data: largest_cosine(data),
    "generate such data with bf.data.orthogonal, or simulate with bf.gradient_flow",
    tolerance=1e-8,
)
DOMINATED = Hypothesis(
    "dominated",
    "|a_h| ≥ |w_h| for every neuron (Boursier et al. 2022), which keeps the sign of a_h,",
    "the largest 1 − |a_h|/|w_h|",
    _dominance_defect,
    "initialize with bf.networks.balanced, or simulate with bf.gradient_flow",
    tolerance=1e-12,
)
COVER = Hypothesis(
    "cover",
    "for each sign of the targets a neuron active on all its samples (Boursier et al. 2022)",
    "the number of signs without such a neuron",
    _uncovered,
    "widen the network (about 2ⁿ neurons for n samples), or simulate with bf.gradient_flow",
    tolerance=0.0,
)
SMALL = Hypothesis(
    "small",
    "small initial weights, in both layers",
    "½(|W₁|² + |W₂|²)max|x|²/min|y||x| over nonzero targets",
    _small_defect,
    "use smaller initial weights (scale=), or simulate with bf.gradient_flow",
    tolerance=1e-2,
)
AHEAD = Hypothesis(
    "ahead",
    "an escape of the neurons active on all samples of a sign before those active on only some of them",
    "the largest fraction of a target that the latter have fitted by then",
    _ahead,
    "use escape_sequence for successive escapes, or smaller initial weights (scale=), or "
    "simulate with bf.gradient_flow",
    tolerance=0.1,
)
