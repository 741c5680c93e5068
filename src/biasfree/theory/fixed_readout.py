"""Second layer fixed, symmetric data: the network is a linear model, trained by gradient flow."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from biasfree.arrays import increasing_times, positive
from biasfree.data import Dataset
from biasfree.losses import named
from biasfree.networks import Network
from biasfree.theory import equivalence
from biasfree.theory.assumptions import check
from biasfree.theory.integration import integrated
from biasfree.theory.linear_loss import linear_loss
from biasfree.theory.linear_network import negative_gradient
from biasfree.trajectory import Factored, Stats, Trajectory

if TYPE_CHECKING:
    from jaxtyping import Float
    from numpy.typing import ArrayLike

ASSUMES = equivalence.ASSUMES


def fixed_readout_flow(
    network: Network,
    data: Dataset,
    ts: ArrayLike,
    *,
    loss: str = "square",
    rtol: float = 1e-10,
    method: str = "DOP853",
    **tolerances: float,
) -> Trajectory:
    """Gradient flow of the first layer alone, the second one fixed, as that of a linear model f(x) = w·x.

    W₁ = W₂ᵀvᵀ for all t, and w = c|W₂|²v obeys dw/dt̃ = g(w) = −∂L/∂w at t̃ = c²|W₂|²t/τ: D equations. Each
    neuron sees W₂ₕc⟨ex⟩, e = −∂ℓ/∂f, since e is odd on symmetric data where f is, and the even part
    (1−α)/2·Σ W₂ₕ|W₂ₕ||v·x| vanishes. The square loss has w = w* + exp(−Σt̃)(w(0) − w*), and only the
    logistic one is integrated. What `bf.gradient_flow(..., train=(True, False))` follows.

    Assumes: Condition 3 (symmetry_tolerance=1e-8); W₁ = W₂ᵀvᵀ (rank_one_tolerance=1e-8) and |W₂⁺| = |W₂⁻|
    (signs_tolerance=1e-8); v·x ≠ 0 on the samples (hyperplane_tolerance=0, a share of them).
    Reference: derived here, by the proof of [ZSL25] Thm. 5 (TMLR 8); Sarussi et al. (2021) for the setting.
    """
    ts, rtol = increasing_times(ts), positive("rtol", rtol)
    kind = named(loss)
    kind.check(data.y)
    defects = check(ASSUMES, network, data, tolerances)
    c, squared = (1 + network.leak) / 2, float(np.sum(network.weights[1] ** 2))
    start, factor = _direction(network), c * squared
    if kind.name == "square":
        v, stats = _square_flow(start, factor, data, c * ts), Stats("fixed_readout_flow")
    else:
        pull = negative_gradient(kind, data)
        v, stats = integrated(
            lambda v: pull(factor * v[None])[0],
            start,
            c * ts,
            name="fixed_readout_flow",
            method=method,
            rtol=rtol,
            atol=rtol * float(np.linalg.norm(start)),
        )
    found, second = linear_loss(factor * v[:, None, :], data, kind), network.weights[1]
    return Trajectory(
        ts=ts,
        weights=Factored((second.T[None], v[:, None, :]), (second[None],)),
        loss=found,
        objective=found,
        leak=network.leak,
        stats=replace(stats, defects=defects),
    )


def _direction(network: Network) -> Float[np.ndarray, "D"]:
    """v of W₁ = W₂ᵀvᵀ, the nearest one."""
    first, second = network.weights
    relative = second[0] / np.abs(second).max()  # squares of tiny weights would underflow
    return relative @ (first / np.abs(second).max()) / (relative @ relative)


def _square_flow(
    start: Float[np.ndarray, "D"], factor: float, data: Dataset, ts: Float[np.ndarray, "T"]
) -> Float[np.ndarray, "T D"]:
    """v of v̇ = β − mΣv, mode by mode of Σ: v₀ + φ(mνt)·t(β − mΣv₀), φ(z) = (1 − e^{−z})/z; no Σ⁻¹ needed."""
    values, modes = np.linalg.eigh(data.sigma)
    seen = values > values[-1] * len(values) * np.finfo(float).eps  # β has nothing along the other modes
    slope = np.where(seen, (data.beta.reshape(-1) - factor * data.sigma @ start) @ modes, 0.0)
    z = np.outer(ts, factor * np.where(seen, values, 0.0))
    share = np.divide(-np.expm1(-z), z, out=np.ones_like(z), where=z > 0)
    return start + (share * ts[:, None] * slope) @ modes.T
