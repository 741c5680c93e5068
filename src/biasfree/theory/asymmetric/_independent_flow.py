"""Orthogonal and XOR points: each is learned by its own neurons, as an independent linear network."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from biasfree.arguments import public
from biasfree.arrays import Float, increasing_times, representable, row_norms
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.theory.asymmetric._subnetworks import Subnetworks
from biasfree.theory.hypotheses import KINKS, RELU, SETTING, Hypothesis, check, result
from biasfree.theory.parts._linear_loss import loss_on
from biasfree.trajectory import Stats, Trajectory

_COMPARED = 1000  # points: among so many some are not independent


def _independence_defect(network: Network, data: Dataset) -> float:  # noqa: ARG001
    size = row_norms(data.x)
    y = data.targets
    if data.outputs != 1 or not size.all() or not y.all():
        return np.nan
    # at most two points per sign are independent, so a subset of many points suffices
    x = data.x[:_COMPARED] / size[:_COMPARED, None]
    y = y[:_COMPARED]
    cosines = x @ x.T
    defects = np.where(y * y.T > 0, 1 + cosines, np.abs(cosines))
    return float(np.max(defects[~np.eye(len(x), dtype=bool)], initial=0.0))


def _sorting_defect(network: Network, data: Dataset) -> float:
    few = len(data) <= _COMPARED and not np.isnan(_independence_defect(network, data))
    if network.depth != 2 or network.sizes[-1] != 1 or network.sizes[0] != data.dimensions or not few:
        return np.nan
    largest = max(np.abs(w).max() for w in network.weights)
    if largest == 0:
        return 0.0
    parts = Subnetworks.of(network, data)
    pairs = list(zip(network.weights, parts.network().weights, strict=True))
    away = np.sqrt(sum(np.sum(((one - other) / largest) ** 2) for one, other in pairs))
    norm = np.sqrt(sum(np.sum((one / largest) ** 2) for one, _ in pairs))
    # |f(x_i)| ≤ ½(|W₁|² + |W₂|²)|x_i|: a zero layer grows from the other
    with np.errstate(over="ignore", divide="ignore"):
        root = norm * largest * np.sqrt(np.max(parts.size / np.abs(parts.targets).min()))
        outputs = float(root**2 / 2 * (away / norm))
    return parts.relative_error(outputs)


INDEPENDENT = Hypothesis(
    "independent",
    "independent points (TMLR Figs. 4 and 8)",
    "the largest |cos(x_i, x_j)| for targets of opposite sign, or 1 + cos for equal signs,",
    _independence_defect,
    "use points such as bf.data.orthogonal_pair() or bf.data.xor(), use bf.theory.gated_flow, or simulate "
    "with bf.gradient_flow",
    tolerance=1e-8,
)
SMALL_OR_SORTED = Hypothesis(
    "small",
    "small initial weights, or neurons that are already sorted,",
    "the largest relative error of a ρ_i(0) caused by outputs of ½(|W₁|² + |W₂|²)max|x| during sorting",
    _sorting_defect,
    "use a smaller scale= or bf.theory.independent_network(network, data), use bf.theory.gated_flow, "
    "or simulate with bf.gradient_flow",
    tolerance=1e-2,
)
POINTS = (*SETTING, RELU, INDEPENDENT, KINKS)
ASSUMES = (*POINTS, SMALL_OR_SORTED)

_subnetworks = result("each point is learned by neurons of its own", lambda: ASSUMES)


@public
@_subnetworks
def independent_flow(
    network: Network,
    data: Dataset,
    ts: ArrayLike,
    *,
    loss: str = "square",
    sort: bool = True,
    **tolerances: float,
) -> Trajectory:
    """Gradient flow on independent points from small initial weights, in closed form: one sigmoid per point.

    f(x_i) = sgn(y_i)ρ_i|x_i|, W₁ = Σ_i √ρ_i v̂_i x̂_iᵀ, W₂ = Σ_i sgn(y_i)√ρ_i v̂_iᵀ, s_i = |y_i||x_i|/P,
    square: ρ̇_i = 2ρ_i(s_i − |x_i|²ρ_i/P), so 1/ρ_i = e^{−2s_it}/ρ_i(0) + (1 − e^{−2s_it})|x_i|/|y_i|;
    logistic: ρ̇_i = 2ρ_is_i/(1 + e^z), z = ρ_i|x_i|, so ln z + Ei(z) grows by 2s_it.
    ρ_i(0) and v̂_i are those of `independent_network`. With sort=False, g = (w·x̂_i + |a|)/2 there where
    sgn a = sgn y_i and w·x_i > 0: the initial activation pattern, without sorting. A point without neurons is
    never learned: ρ_i = 0. `ts` may end at infinity for the square loss.

    Accuracy: exact to rounding for the weights of `independent_network`; for others the relative error of
    every ρ_i(0) is about stats.defects["small"] (with sort=False, of order one).

    Assumes: two layers, one output, no biases; α = 0; targets of opposite sign on orthogonal points and of
    equal sign on antiparallel ones (independent_tolerance=1e-8); no neuron exactly on the hyperplane of a
    point of its sign (kinks_tolerance=0, their number; if relaxed, σ′(0) = 0 and they stay there, as under
    gradient descent); small initial weights in both layers, or neurons already sorted (small_tolerance=1e-2).
    Reference: [ZSL25] TMLR Figs. 4 and 8; Boursier et al. (2022); the equations, the implicit form of
    the logistic one and the sorted initial weights are derived here.
    """
    kind = loss_on(loss, data, solved=("square", "logistic"))
    ts = increasing_times(ts, infinite=kind.name == "square")
    defects = check(ASSUMES, network, data, tolerances)
    parts = Subnetworks.of(network, data, sort=sort)
    log_rho = (parts.square if kind.name == "square" else parts.logistic)(ts)
    values = kind.value(parts.outputs(log_rho), parts.targets).mean(axis=1)
    stats = Stats("independent_flow", defects=defects)
    return Trajectory(ts, parts.weights(log_rho), values, values, leak=network.leak, stats=stats)


@public
def independent_network(network: Network, data: Dataset, **tolerances: float) -> Network:
    """The network of independent linear subnetworks that trains as `network` does, from the same t = 0.

    Neuron h of point i has w = g_hx̂_i, a = sgn(y_i)g_h; ρ_i(0) = Σg_h². Let p, q be w·x̂ on the points with
    y > 0 and y < 0 on which it is active (0 if there is none), and s, r their s_i (0 likewise). While outputs
    are negligible each neuron obeys ṗ = sa, q̇ = −ra, ȧ = sp − rq: it is sorted to the point of the sign of
    λ = ωa + sp − rq, ω² = s² + r², and becomes inactive on the other. For λ > 0 (otherwise swap the two
    points and the sign of a), with p* = p + sq/r and a*² = a² − q² + p*² − p²,
    g = ½(p* + a*)·(λ/(ωa* + sp*))^{s/ω}.  Exact as the scale → 0. Accuracy: rounding.

    Assumes: as `independent_flow`, for initial weights of any size.
    Reference: derived here.
    """
    check(POINTS, network, data, tolerances)
    return Subnetworks.of(network, data).network()


@public
@_subnetworks
def learning_times(network: Network, data: Dataset, **tolerances: float) -> Float[np.ndarray, "P"]:
    """The time at which f(x_i) = y_i/2 under the square loss; infinite without neurons.

    t_i = ln(|y_i|/(|x_i|ρ_i(0)) − 1)/(2s_i); 0 if f(x_i) is beyond y_i/2 at t = 0. Accuracy: the error of
    2s_it_i is about the relative error of ρ_i(0) in `independent_flow`.

    Assumes: as `independent_flow`.
    Reference: derived here.
    """
    check(ASSUMES, network, data, tolerances)
    parts = Subnetworks.of(network, data)
    ratio = np.minimum(parts.log_start - parts.log_limit, np.log(0.5))  # beyond it the time is 0
    odds = np.log1p(-np.exp(ratio)) - ratio
    with np.errstate(over="ignore"):
        return representable("t_i", np.maximum(odds, 0) / (2 * parts.rates), infinite=True)
