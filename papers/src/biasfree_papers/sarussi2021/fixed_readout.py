"""Networks with a fixed second layer on symmetric data: linear models, trained by flow or descent."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from biasfree.arrays import Float, increasing_times, positive, real
from biasfree.data import Dataset
from biasfree.losses import Loss, loss_named
from biasfree.networks import Network
from biasfree.theory.hypotheses import HYPERPLANE, ONE_DIRECTION, SETTING, SIGNS, SYMMETRY, check, under
from biasfree.theory.parts import integrated, linear_loss, negative_gradient
from biasfree.trajectory import Factored, Stats, Trajectory

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_ASSUMES = (*SETTING, SYMMETRY, ONE_DIRECTION, SIGNS, HYPERPLANE)


def fixed_readout_flow(
    network: Network,
    data: Dataset,
    ts: ArrayLike,
    *,
    loss: str = "square",
    rtol: float = 1e-10,
    **tolerances: float,
) -> Trajectory:
    """Gradient flow of the first layer, second layer fixed, as the flow of a linear model f(x) = w·x.

    W₁ = W₂ᵀvᵀ for all t, and w = c|W₂|²v obeys dw/dt̃ = g(w) = −∂L/∂w at t̃ = c²|W₂|²t/τ: D equations. The
    even part (1−α)/2·Σ W₂ₕ|W₂ₕ||v·x| of f vanishes, so that e = −∂ℓ/∂f is odd on symmetric data, and the
    force on each neuron is W₂ₕc⟨ex⟩. For the square loss w = w* + exp(−Σt̃)(w(0) − w*); other losses are
    integrated by DOP853. `bf.gradient_flow(..., train=(True, False))` simulates the same flow.

    Assumes: Condition 3 (symmetry_tolerance=1e-8), for other losses than the square one with every mirror
    image (mirror_tolerance=0), for the logistic one labels ±1; W₁ = W₂ᵀvᵀ (rank_one_tolerance=1e-8) and |W₂⁺|
    = |W₂⁻| (signs_tolerance=1e-8); v·x ≠ 0 on the samples (hyperplane_tolerance=0, a fraction of them).
    Reference: derived here, by the proof of [ZSL25] Thm. 5 (TMLR 8); Sarussi et al. (2021) for the setting.
    """
    ts, rtol = increasing_times(ts), positive("rtol", rtol)
    kind = loss_named(loss)
    kind.check(data.y)
    defects = check(under(kind, _ASSUMES), network, data, tolerances)
    c, squared = (1 + network.leak) / 2, float(np.sum(network.weights[1] ** 2))
    start, factor = _direction(network), c * squared
    if kind.name == "square":
        v, stats = _square_flow(start, factor, data, c * ts), Stats("fixed_readout_flow")
    else:
        force, atol = negative_gradient(kind, data), rtol * float(np.linalg.norm(start))
        v, stats = integrated(
            lambda v: force(factor * v[None])[0],
            start,
            c * ts,
            name="fixed_readout_flow",
            method="DOP853",
            rtol=rtol,
            atol=atol,
        )
    return _trajectory(network, data, kind, ts, v, replace(stats, defects=defects))


def fixed_readout_descent(
    network: Network, data: Dataset, sizes: ArrayLike, *, loss: str = "square", **tolerances: float
) -> Trajectory:
    """Descent of the first layer, second layer fixed, as descent of a linear model with steps c²|W₂|²η.

    W₁ = W₂ᵀvᵀ after every step of any size, with v → v + ηc·g(c|W₂|²v). `sizes` has a size η for every step;
    the first and the last weights are returned.

    Assumes: as `fixed_readout_flow`.
    Reference: derived here, by the proof of [ZSL25] Thm. 5 (TMLR 8); Sarussi et al. (2021) for the setting.
    """
    steps, kind = real("sizes", sizes), loss_named(loss)
    ts = increasing_times(np.append(0.0, np.cumsum(steps)))
    kind.check(data.y)
    defects = check(under(kind, _ASSUMES), network, data, tolerances)
    start, c, force = _direction(network), (1 + network.leak) / 2, negative_gradient(kind, data)
    v, factor = start, c * float(np.sum(network.weights[1] ** 2))
    for size in steps:
        v = v + size * c * force(factor * v[None])[0]
    stats = Stats("fixed_readout_descent", len(steps), accepted=len(steps), defects=defects)
    return _trajectory(network, data, kind, ts[[0, -1]], np.array([start, v]), stats)


def _trajectory(
    network: Network, data: Dataset, kind: Loss, ts: np.ndarray, v: Float[np.ndarray, "T D"], stats: Stats
) -> Trajectory:
    """The networks W₁ = W₂ᵀvᵀ with their fixed second layer, and the loss of f(x) = c|W₂|²v·x."""
    second = network.weights[1]
    w = (1 + network.leak) / 2 * np.sum(second**2) * v
    found = linear_loss(w[:, None, :], data, kind)
    return Trajectory(
        ts=ts,
        weights=Factored((second.T[None], v[:, None, :]), (second[None],)),
        loss=found,
        objective=found,
        leak=network.leak,
        stats=stats,
    )


def _direction(network: Network) -> Float[np.ndarray, "D"]:
    """The v for which W₂ᵀvᵀ is nearest to W₁."""
    first, second = network.weights
    relative = second[0] / np.abs(second).max()  # squares of tiny weights would underflow
    return relative @ (first / np.abs(second).max()) / (relative @ relative)


def _square_flow(
    start: Float[np.ndarray, "D"], factor: float, data: Dataset, ts: Float[np.ndarray, "T"]
) -> Float[np.ndarray, "T D"]:
    """v of v̇ = β − mΣv per mode of Σ: v₀ + φ(mνt)·t(β − mΣv₀), φ(z) = (1 − e^{−z})/z; Σ may be singular."""
    values, modes = np.linalg.eigh(data.sigma)
    seen = values > values[-1] * len(values) * np.finfo(float).eps  # β has no component along the other modes
    slope = np.where(seen, (data.beta.reshape(-1) - factor * data.sigma @ start) @ modes, 0.0)
    z = np.outer(ts, factor * np.where(seen, values, 0.0))
    share = np.divide(-np.expm1(-z), z, out=np.ones_like(z), where=z > 0)
    return start + (share * ts[:, None] * slope) @ modes.T
