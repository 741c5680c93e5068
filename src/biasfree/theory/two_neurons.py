"""What a small draw becomes before its outputs matter: two neurons, one of each sign, for any leak."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from biasfree.arrays import increasing_times, positive
from biasfree.data import Dataset
from biasfree.losses import Loss, named
from biasfree.networks import Network
from biasfree.theory.alignment import SMALL_START, growing_part
from biasfree.theory.assumptions import check
from biasfree.theory.integration import Field, integrated
from biasfree.theory.rank_one import RankOne
from biasfree.trajectory import Factored, Stats, Trajectory

if TYPE_CHECKING:
    from jaxtyping import Float
    from numpy.typing import ArrayLike

ASSUMES = SMALL_START
_SIGNS = np.array([1.0, -1.0])
_LARGEST = 30.0  # of ln|a| in a trial step: e³⁰ is far beyond any transition


def two_neuron_flow(
    network: Network,
    data: Dataset,
    ts: ArrayLike,
    *,
    loss: str = "square",
    rtol: float = 1e-8,
    **tolerances: float,
) -> Trajectory:
    """Gradient flow from a small random start at any width, by integrating two neurons only.

    The growing part W₁ = r₁β̄ᵀ, W₂ = r₁ᵀ has one direction, so neurons of one sign see the same samples and
    stay proportional: they act as one, |a| = |r₁±| and w = |a|ρ with ρ = ±β̄ at the start. Of each,
    d ln|a|/dt = g·ρ,  dρ/dt = g − (g·ρ)ρ,  g = ±⟨e σ′(ρ·x)x⟩, e = y − f for the square loss and
    y/(1 + e^{yf}) for the logistic one. Where `reduced_flow` of `aligned` rescales the signs to equal size,
    this keeps the imbalance of the draw, for any Σ. Exact as the scale → 0.

    Assumes: Condition 3 (symmetry_tolerance=1e-8); β ≠ 0 (target_tolerance=1e8); small initial weights
    (small_tolerance=1e-2).
    Reference: derived here from [ZSL25] Thm. 13.
    """
    ts, rtol, kind = increasing_times(ts), positive("rtol", rtol), named(loss)
    kind.check(data.y)
    defects = check(ASSUMES, network, data, tolerances)
    growing = growing_part(network, data)
    look = {"name": "two_neuron_flow", "method": "RK45", "rtol": rtol, "atol": rtol}
    states, stats = integrated(_field(data, network.leak, kind), _start(growing), ts, **look)
    return _trajectory(ts, states, growing, data, kind, stats=replace(stats, defects=defects))


def _start(growing: RankOne) -> Float[np.ndarray, "N"]:
    """ln|r₁±| and ±β̄; a sign that no neuron has stays as small as numbers go."""
    sizes = growing.norm * np.linalg.norm(_parts(growing), axis=0)
    return np.concatenate([np.log(np.maximum(sizes, np.finfo(float).tiny)), growing.r, -growing.r])


def _parts(growing: RankOne) -> Float[np.ndarray, "H 2"]:
    """r₁⁺ and r₁⁻, relative to |r₁|."""
    return np.stack([np.maximum(growing.neurons, 0), np.minimum(growing.neurons, 0)], axis=1)


def _field(data: Dataset, leak: float, kind: Loss) -> Field:
    x, y = data.x, data.targets[:, 0]

    def field(state: np.ndarray) -> np.ndarray:
        rho = state[2:].reshape(2, -1)
        slopes = np.where(x @ rho.T > 0, 1.0, leak)
        f = _outputs(state, x, leak)
        g = (kind.residual(f, y)[:, None] * slopes * _SIGNS).T @ x / len(x)
        along = np.sum(g * rho, axis=1)
        return np.concatenate([along, (g - along[:, None] * rho).ravel()])

    return field


def _outputs(state: np.ndarray, x: Float[np.ndarray, "P D"], leak: float) -> Float[np.ndarray, "P"]:
    z = x @ state[2:].reshape(2, -1).T
    return np.where(z > 0, z, leak * z) @ (_SIGNS * np.exp(2 * np.minimum(state[:2], _LARGEST)))


def _trajectory(
    ts: np.ndarray, states: np.ndarray, growing: RankOne, data: Dataset, kind: Loss, *, stats: Stats
) -> Trajectory:
    """All neurons again, each its share of the neuron of its sign: W₁ = Σ± v̂±(|a|ρ)±ᵀ, W₂ = Σ± |a|±v̂±ᵀ."""
    parts = _parts(growing)
    shares = parts / np.where(parts.any(axis=0), np.linalg.norm(parts, axis=0), 1.0)
    sizes, rho = np.exp(states[:, :2]), states[:, 2:].reshape(len(ts), 2, -1)
    y = data.targets[:, 0]
    found = np.array([np.mean(kind.value(_outputs(state, data.x, growing.leak), y)) for state in states])
    first = (_SIGNS * sizes)[:, :, None] * rho  # r₁⁻ is negative and ρ₋ starts at −β̄
    return Trajectory(
        ts=ts,
        weights=Factored((shares[None], first), (sizes[:, None, :], shares.T[None])),
        loss=found,
        objective=found,
        leak=growing.leak,
        stats=stats,
    )
