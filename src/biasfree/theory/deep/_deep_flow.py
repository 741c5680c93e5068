"""Proposition 12 (App. F.2 of v1): gradient flow of deep networks of low rank."""

from __future__ import annotations

import functools
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from biasfree.arguments import public
from biasfree.arrays import Float, increasing_times, non_negative, positive
from biasfree.data import Dataset
from biasfree.losses import LOSSES
from biasfree.networks import Network
from biasfree.theory.deep._structure import PROPOSITION_12, STRUCTURE, DeepParts
from biasfree.theory.hypotheses import check, result, under
from biasfree.theory.parts._integration import direction_flow
from biasfree.theory.parts._linear_loss import loss_on
from biasfree.theory.parts._linear_network import negative_gradient
from biasfree.trajectory import Trajectory

ASSUMES_FLOW = ASSUMES_SLOPE = PROPOSITION_12
ASSUMES_MAP = ASSUMES_TWIN = STRUCTURE

_twin = result("the linear map and the linear twin of a deep network of low rank", lambda: ASSUMES_MAP)


@public
@result(
    "deep networks of low rank learn as linear ones, ReLU at half speed",
    lambda: ASSUMES_FLOW,
    losses=tuple(LOSSES),
)
def deep_flow(
    network: Network,
    data: Dataset,
    ts: ArrayLike,
    *,
    loss: str = "square",
    l2: float = 0.0,
    rtol: float = 1e-10,
    method: str = "DOP853",
    **tolerances: float,
) -> Trajectory:
    """Gradient flow of a deep network of low rank, computed by integrating one norm and one direction.

    With v = u/√2 and t̃ = t/(2τ) for ReLU networks, v = u and t̃ = t/τ for linear ones, in general v = √q·u and
    t̃ = qt/τ, where q = c for two layers and q³ = c⁴ + k⁴ for three, c, k = (1 ± α)/2:
    d ln v/dt̃ = v^{L−2}(g·r) − λ/q,  dr/dt̃ = v^{L−2}(g − (g·r)r),  w = v^L r,  f(x) = w·x,
    g(w) = ⟨ex⟩: β − Σw for the square loss, ⟨yx/(1 + e^{y w·x})⟩ for the logistic one, and with the e of
    f = w·x for Huber's; r₁ … r_{L−1} are fixed.
    For ReLU this is τu̇ = u^{L−1}2^{−L/2} g·r, τ d(ur)/dt = u^{L−1}2^{−L/2} g; for three leaky layers
    √(c⁴ + k⁴) stands for 2^{−L/2}. ReLU needs σ′(0) = 0, because preactivations of inactive neurons are
    exactly 0. [ZSL25] assumes a linear target; given the structure, an odd one suffices. `method` is one of
    SciPy's; use "Radau" for times far beyond a long plateau, or for a Σ of widely spread eigenvalues. A
    plateau lasts about t̃ = 1/((L−2)v₀^{L−2}s); beyond 1e12, floating-point times do not resolve the
    transition after it.

    Assumes: no biases, one output, leak 0 or 1 or at most three layers; Eq. 40, 39 if linear, or the leaky
    structure of `bf.networks.low_rank` (structure_tolerance=1e-8). For leaks below 1
    also |r_l⁺| = |r_l⁻| (signs_tolerance=1e-8), Condition 3 (symmetry_tolerance=1e-8), for other losses than
    the square one with every mirror image (mirror_tolerance=0), for the logistic one labels ±1, and r·x ≠ 0
    on the samples (hyperplane_tolerance=0, a share of them).
    Reference: [ZSL25] App. F.2 (TMLR Proposition 12); other losses than the square one, L2, the odd target,
    leaks and the form in (ln v, r) are derived here.
    """
    ts = increasing_times(ts)
    l2 = non_negative("l2", l2)
    rtol = positive("rtol", rtol)
    kind = loss_on(loss, data)
    defects = check(under(kind, ASSUMES_FLOW), network, data, tolerances)
    start = DeepParts.of(network)
    force = negative_gradient(kind, data)
    log_v, r, stats = direction_flow(
        lambda w: force(w[None])[0],
        start.log_v,
        start.r,
        start.speed * ts,
        name="deep_flow",
        method=method,
        rtol=rtol,
        decay=l2 / start.speed,
        depth=start.depth,
    )
    return start.trajectory(ts, log_v, r, data, loss=kind, l2=l2, stats=replace(stats, defects=defects))


@public
@result("deep networks of low rank learn as linear ones, ReLU at half speed", lambda: ASSUMES_FLOW)
def deep_slope(network: Network, data: Dataset, **tolerances: float) -> tuple[Float[np.ndarray, "_ _"], ...]:
    """τẆ_l = −∂L/∂W_l of the square loss for every layer of a deep network of low rank.

    τẆ_l = (W_L⋯W_{l+1})ᵀ (cβᵀ − c²W_L⋯W₁Σ) (W_{l−1}⋯W₁)ᵀ, c = 1/2 for ReLU and 1 for linear networks. In the
    middle layers of a ReLU network it is 0 outside the blocks where r_l and r_{l−1} have equal signs. As
    printed, it fills all blocks, a relative error of 1 in those layers, and its last product has other layers
    (erratum 6). For every leak it is τẆ₁ = κu^{L−1}r₁gᵀ and τẆ_l = κu^{L−2}(g·r)W_l, g = β − Σw, w = κu^L r:
    the rates of u and ur.

    Assumes: as `deep_flow`.
    Reference: [ZSL25] Eq. 42 and, for linear networks, Eq. 12.
    """
    check(ASSUMES_SLOPE, network, data, tolerances)
    parts = DeepParts.of(network)
    force = data.beta.reshape(-1) - data.sigma @ _map(network)
    rate = parts.speed ** (parts.depth / 2) * parts.norm ** (parts.depth - 2)
    rest = [rate * (force @ parts.r) * w for w in network.weights[1:]]
    return (rate * np.outer(parts.neurons[0], parts.norm * force), *rest)


@public
@_twin
def deep_map(network: Network, **tolerances: float) -> Float[np.ndarray, "D"]:
    """The linear map w of a deep network of low rank, f(x) = w·x.

    wᵀ = ½W_L⋯W₁ = (u/√2)^L rᵀ for ReLU networks, W_L⋯W₁ = u^L rᵀ for linear ones,
    (c⁴ + k⁴)/c²·W₃W₂W₁ = √(c⁴ + k⁴)u³ rᵀ for three layers of any leak.

    Assumes: no biases, one output, leak 0 or 1 or at most three layers; the structure of `deep_flow`
    (structure_tolerance=1e-8); |r_l⁺| = |r_l⁻| unless linear (signs_tolerance=1e-8).
    Reference: [ZSL25] Eq. 41; leaks are derived here.
    """
    check(ASSUMES_MAP, network, None, tolerances)
    return _map(network)


@public
@_twin
def deep_linear_twin(network: Network, **tolerances: float) -> Network:
    """The deep linear network that learns as `network` does: the same r and r_l, and layers of norm u/√2.

    On symmetric data, at every depth: f(x; t) = f_lin(x; t/2), u(t) = √2·u_lin(t/2), and layer by layer
    W₁ = √2·W₁_lin, W_L = √2·W_L_lin, W_l = 2·max(W_l_lin, 0) in between. A linear network is its own twin.
    For other leaks q of `deep_flow` stands for ½: f(x; t) = f_lin(x; qt), u(t) = u_lin(qt)/√q.

    Assumes: as `deep_map`.
    Reference: derived here from [ZSL25] App. F.2 (TMLR Proposition 12).
    """
    check(ASSUMES_TWIN, network, None, tolerances)
    return DeepParts.of(network).linear_twin().network()


def _map(network: Network) -> Float[np.ndarray, "D"]:
    """c·W₂W₁, or (c⁴ + k⁴)/c²·W_L⋯W₁ for more layers."""
    c, k = (1 + network.leak) / 2, (1 - network.leak) / 2
    factor = c if network.depth == 2 else (c**4 + k**4) / c**2
    return factor * functools.reduce(np.matmul, network.weights[::-1])[0]
