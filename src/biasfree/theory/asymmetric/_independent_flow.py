"""Orthogonal and XOR points: each is learned by neurons of its own, as an independent linear network."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from biasfree.arrays import increasing_times, positive, row_norms
from biasfree.data import Dataset
from biasfree.losses import loss_named
from biasfree.networks import Network
from biasfree.theory.asymmetric._subnetworks import Subnetworks
from biasfree.theory.hypotheses import KINKS, RELU, SETTING, Hypothesis, check, result
from biasfree.theory.parts._linear_phase import representable
from biasfree.trajectory import Stats, Trajectory

if TYPE_CHECKING:
    from jaxtyping import Float
    from numpy.typing import ArrayLike

_COMPARED = 1000


def _independence_defect(network: Network, data: Dataset) -> float:  # noqa: ARG001
    size, y = row_norms(data.x), data.targets
    if data.outputs != 1 or not size.all() or not y.all():
        return np.nan
    # two points of either sign are the most there can be, so among very many not every pair need be compared
    x, y = data.x[:_COMPARED] / size[:_COMPARED, None], y[:_COMPARED]
    cosines = x @ x.T
    apart = np.where(y * y.T > 0, 1 + cosines, np.abs(cosines))
    return float(np.max(apart[~np.eye(len(x), dtype=bool)], initial=0.0))


def _start_defect(network: Network, data: Dataset) -> float:
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
    # |f(x_i)| ≤ ½(|W₁|² + |W₂|²)|x_i|: a layer that is zero grows from the other
    with np.errstate(over="ignore", divide="ignore"):
        root = norm * largest * np.sqrt(np.max(parts.size / np.abs(parts.targets).min()))
        outputs = float(root**2 / 2 * (away / norm))
    return parts.doubt(outputs)


INDEPENDENT = Hypothesis(
    "independent",
    "independent points (TMLR Figs. 4 and 8)",
    "the largest |cos(x_i, x_j)| of targets of opposite sign, or 1 + cos of equal sign,",
    _independence_defect,
    "take points such as bf.data.orthogonal_pair() or bf.data.xor(), use bf.theory.gated_flow, or simulate "
    "with bf.gradient_flow",
    tolerance=1e-8,
)
START = Hypothesis(
    "small",
    "a small or already sorted start",
    "the relative error of a ρ_i(0) that outputs of ½(|W₁|² + |W₂|²)max|x| while neurons are sorted can make",
    _start_defect,
    "start smaller (scale=) or from bf.theory.independent_network(network, data), use bf.theory.gated_flow, "
    "or simulate with bf.gradient_flow",
    tolerance=1e-2,
)
POINTS = (*SETTING, RELU, INDEPENDENT, KINKS)
ASSUMES = (*POINTS, START)

_subnetworks = result("each point is learned by neurons of its own", lambda: ASSUMES)


@_subnetworks
def independent_flow(
    network: Network,
    data: Dataset,
    ts: ArrayLike,
    *,
    loss: str = "square",
    start: str = "sorted",
    **tolerances: float,
) -> Trajectory:
    """Gradient flow on independent points from a small start, in closed form: a sigmoid for every point.

    f(x_i) = sgn(y_i)ρ_i|x_i|, W₁ = Σ_i √ρ_i v̂_i x̂_iᵀ, W₂ = Σ_i sgn(y_i)√ρ_i v̂_iᵀ, s_i = |y_i||x_i|/P,
    square: ρ̇_i = 2ρ_i(s_i − |x_i|²ρ_i/P), so 1/ρ_i = e^{−2s_it}/ρ_i(0) + (1 − e^{−2s_it})|x_i|/|y_i|;
    logistic: ρ̇_i = 2ρ_is_i/(1 + e^z), z = ρ_i|x_i|, so ln z + Ei(z) grows by 2s_it.
    ρ_i(0) and v̂_i are those of `independent_network`. A point without neurons is never learned: ρ_i = 0. `ts`
    may end at infinity for the square loss.

    From `independent_network` the flow is exact to rounding, from other weights up to a relative error of
    every ρ_i(0) of about stats.defects["small"] (with start="draw", whose neurons are not sorted, of order
    one).

    Assumes: two layers, one output, no biases; α = 0; targets of opposite sign on orthogonal points and of
    equal sign on antiparallel ones (independent_tolerance=1e-8); no neuron exactly on the hyperplane of a
    point of its sign (kinks_tolerance=0, how many; relaxed, σ′(0) = 0 holds and they stay there, as under
    gradient descent); a small start, in both layers, or one already sorted (small_tolerance=1e-2).
    Reference: [ZSL25] TMLR Figs. 4 and 8; Boursier et al. (2022). The equations, the implicit form of
    the logistic one and the sorted start are derived here.
    """
    kind = loss_named(loss)
    kind.check(data.y)
    ts = increasing_times(ts, infinite=kind.name == "square")
    defects = check(ASSUMES, network, data, tolerances)
    parts = Subnetworks.of(network, data, start=start)
    log_rho = (parts.square if kind.name == "square" else parts.logistic)(ts)
    found = kind.value(parts.outputs(log_rho), parts.targets).mean(axis=1)
    stats = Stats("independent_flow", defects=defects)
    return Trajectory(ts, parts.weights(log_rho), found, found, leak=network.leak, stats=stats)


def independent_network(
    network: Network, data: Dataset, *, start: str = "sorted", **tolerances: float
) -> Network:
    """The network of independent linear subnetworks that stands in for a small random one, at the same t = 0.

    Neuron h of point i has w = g_hx̂_i, a = sgn(y_i)g_h; ρ_i(0) = Σg_h². Write p, q for w·x̂ on the points
    with y > 0 and y < 0 on which it is active (0 where there is none), s, r for their s_i (0 likewise).
    start="sorted": while outputs are negligible the flow of each neuron is ṗ = sa, q̇ = −ra, ȧ = sp − rq,
    and it ends on the point of the sign of λ = ωa + sp − rq, ω² = s² + r², the other one left for good. For
    λ > 0 (swap the two points and the sign of a otherwise), with p* = p + sq/r and a*² = a² − q² + p*² − p²,
    g = ½(p* + a*)·(λ/(ωa* + sp*))^{s/ω}.  Exact as the scale → 0.
    start="draw": g = (w·x̂_i + |a|)/2 where sgn a = sgn y_i and w·x_i > 0, the start without that sorting.
    Right to rounding.

    Assumes: what `independent_flow` does, but for the small start: without it this is just another network.
    Reference: derived here.
    """
    check(POINTS, network, data, tolerances)
    return Subnetworks.of(network, data, start=start).network()


@_subnetworks
def learning_times(
    network: Network, data: Dataset, *, share: float = 0.5, start: str = "sorted", **tolerances: float
) -> Float[np.ndarray, "P"]:
    """The time at which f(x_i) reaches a share of y_i under the square loss; infinite without neurons.

    t_i = [ln(|y_i|/(|x_i|ρ_i(0)) − 1) + ln(share/(1 − share))]/(2s_i); 0 where it is there already.
    Right to an error of 2s_it_i of about the relative error of ρ_i(0) that `independent_flow` states.

    Assumes: what `independent_flow` does.
    Reference: derived here.
    """
    if not positive("share", share) < 1:
        raise ValueError(
            f"share must lie between 0 and 1, got {share!r}: y itself is reached only at infinity."
        )
    check(ASSUMES, network, data, tolerances)
    parts = Subnetworks.of(network, data, start=start)
    ratio = np.minimum(parts.log_start - parts.log_limit, np.log(share))  # further on, the time is 0
    odds = np.log1p(-np.exp(ratio)) - ratio + np.log(share) - np.log1p(-share)
    with np.errstate(over="ignore"):
        return representable("t_i", np.maximum(odds, 0) / (2 * parts.rates), infinite=True)
