"""The early phase: a small random start while its outputs do not matter yet, and how long that lasts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from biasfree.arrays import increasing_times, non_negative
from biasfree.data import Dataset
from biasfree.losses import named
from biasfree.networks import Network
from biasfree.theory.alignment import SMALL_START, growing_part
from biasfree.theory.assumptions import SETTING, SMALL, SYMMETRY, check
from biasfree.trajectory import Factored, Stats, Trajectory

if TYPE_CHECKING:
    from jaxtyping import Float
    from numpy.typing import ArrayLike


ASSUMES_BOUND = (*SETTING, SYMMETRY)
_SLOPES = {"square": (1.0, 1.0), "logistic": (0.5, 0.25)}  # κ₁, κ₂ of g(w) ≈ κ₁β − κ₂Σw


def linearised_flow(
    network: Network,
    data: Dataset,
    ts: ArrayLike,
    *,
    loss: str = "square",
    l2: float = 0.0,
    **tolerances: float,
) -> Trajectory:
    """The early phase: gradient flow while outputs are negligible, solved exactly.

    W₁ = e^{−λt}[e^{κt}r₁β̄ᵀ + e^{−κt}r₂β̄ᵀ + W₁(0)(I − β̄β̄ᵀ)],  W₂ = e^{−λt}[e^{κt}r₁ − e^{−κt}r₂]ᵀ,
    r₁, r₂ = (W₁(0)β̄ ± W₂(0)ᵀ)/2; κ = cs for the square loss, cs/2 for the logistic one. Refused at times at
    which outputs are no longer negligible; `early_error` bounds what is left out.

    Assumes: Condition 3 (symmetry_tolerance=1e-8); β ≠ 0 (target_tolerance=1e8); c|W₁||W₂||Σ|/s ≪ 1 at every
    time asked for (small_tolerance=1e-2).
    Reference: [ZSL25] Thm. 13, Eq. 23; the logistic and L2 rates are derived here.
    """
    ts, l2, kind = increasing_times(ts), non_negative("l2", l2), named(loss)
    kind.check(data.y)
    defects = check(SMALL_START, network, data, tolerances)
    kappa, direction = (
        growth_rate(network, data, loss=loss),
        data.beta.reshape(-1) / np.linalg.norm(data.beta),
    )
    factors = _modes(network, direction, kappa, ts, l2)
    defects |= _check_still_small(Network(factors.at(-1), leak=network.leak), data, ts[-1], tolerances)
    networks = [Network(factors.at(i), leak=network.leak) for i in range(len(ts))]
    found = np.array([kind.value(net(data.x), data.targets[:, 0]).mean() for net in networks])
    return Trajectory(
        ts=ts,
        weights=factors,
        loss=found,
        objective=found + l2 / 2 * np.array([np.sum(net.norms**2) for net in networks]),
        leak=network.leak,
        stats=Stats("linearised_flow", defects=defects),
    )


def growth_rate(network: Network, data: Dataset, *, loss: str = "square", l2: float = 0.0) -> float:
    """The rate at which the weights grow while outputs are negligible: cs − λ, or cs/2 − λ (logistic).

    Assumes: Condition 3 and two layers of one output.
    Reference: [ZSL25] Thm. 13; the logistic and L2 rates are derived here.
    """
    slope, _ = _SLOPES[named(loss).name]
    return (1 + network.leak) / 2 * slope * float(np.linalg.norm(data.beta)) - non_negative("l2", l2)


def plateau_end(
    network: Network, data: Dataset, *, loss: str = "square", l2: float = 0.0, **tolerances: float
) -> float:
    """When a small random start leaves its plateau: the growing part, unchecked, would stop its own growth.

    t = ln[g/(κ₂ β̄ᵀΣβ̄ u₀²)]/(2cg), u₀ = √c·|r₁|, g = κ₁s − λ/c, from the slope g(w) ≈ κ₁β − κ₂Σw of a small
    w: (κ₁, κ₂) = (1, 1) for the square loss, (½, ¼) for the logistic one. For Σ = νI and the square loss this
    is the middle of the sigmoid. Infinity where L2 forbids growth.

    Assumes: as `aligned`, but r₁ may have one sign only.
    Reference: derived here from [ZSL25] Thm. 13.
    """
    check(SMALL_START, network, data, tolerances)
    growing = growing_part(network, data)
    rate, (_, curvature) = growth_rate(network, data, loss=loss, l2=l2) / growing.c, _SLOPES[named(loss).name]
    if rate <= 0:
        return np.inf
    stiffness = curvature * float(growing.r @ data.sigma @ growing.r)
    return float((np.log(rate / stiffness) - 2 * np.log(growing.u)) / (2 * growing.c * rate))


def lemma12_bound(network: Network, data: Dataset, ts: ArrayLike) -> Float[np.ndarray, "T"]:
    """The bound u(t) ≤ u(0)e^{(s + TrΣ)t/τ} on the larger norm of a layer, up to `lemma12_window`.

    Assumes: two layers of one output, square loss; any data.
    Reference: [ZSL25] Lemma 12, Eq. 17.
    """
    rate = float(np.linalg.norm(data.beta) + np.trace(data.sigma))
    return network.norms.max() * np.exp(rate * increasing_times(ts))


def lemma12_window(network: Network, data: Dataset) -> float:
    """The time τ·ln(1/u(0))/(s + TrΣ) until which Lemma 12 holds: far shorter than the plateau.

    Reference: [ZSL25] Lemma 12; 0 for u(0) ≥ 1, which it does not cover.
    """
    rate = float(np.linalg.norm(data.beta) + np.trace(data.sigma))
    return max(-float(np.log(network.norms.max())), 0.0) / rate


def norm_bound(network: Network, data: Dataset, ts: ArrayLike, **tolerances: float) -> Float[np.ndarray, "T"]:
    """The bound u(t) ≤ u(0)e^{cst/τ} on the larger norm of a layer: sharper than Lemma 12, for all times.

    Assumes: two layers of one output, square loss, any weights; Condition 3 (symmetry_tolerance=1e-8).
    Reference: derived here; compare [ZSL25] Lemma 12.
    """
    check(ASSUMES_BOUND, network, data, tolerances)
    return network.norms.max() * np.exp(growth_rate(network, data) * increasing_times(ts))


def early_error(
    network: Network, data: Dataset, ts: ArrayLike, **tolerances: float
) -> Float[np.ndarray, "T"]:
    """A bound on |W(t) − W̃(t)|, the flow against `linearised_flow`, both layers together, for all times.

    √2·TrΣ·u(0)³·e^{κt}(e^{2κt} − 1)/(2κ), κ = cs: what is left out of the slope has norm at most √2·TrΣ·u³
    (Lemmas 8 and 9), and u(t) ≤ u(0)e^{κt}.

    Assumes: as `norm_bound`.
    Reference: derived here; the proof of [ZSL25] Thm. 13 bounds it with Lemma 12.
    """
    bound, kappa = norm_bound(network, data, ts, **tolerances), growth_rate(network, data)
    grown = np.expm1(2 * kappa * increasing_times(ts)) / (2 * kappa) if kappa > 0 else increasing_times(ts)
    return np.sqrt(2) * float(np.trace(data.sigma)) * network.norms.max() ** 2 * bound * grown


def _modes(
    network: Network,
    direction: Float[np.ndarray, "D"],
    kappa: float,
    ts: Float[np.ndarray, "T"],
    l2: float,
) -> Factored:
    """The three terms of Eq. 23: W₁ = [r₁, r₂, I]·[e^{κt}β̄ᵀ; e^{−κt}β̄ᵀ; W₁(0)(I − β̄β̄ᵀ)], W₂ in r₁, r₂."""
    first, second = network.weights
    along = first @ direction
    pair = np.stack([(along + second[0]) / 2, (along - second[0]) / 2], axis=1)
    grown = np.exp(np.stack([kappa * ts, -kappa * ts], axis=1) - l2 * ts[:, None])
    rest = first - np.outer(along, direction)
    moving = np.concatenate(
        [grown[:, :, None] * direction, np.exp(-l2 * ts)[:, None, None] * np.eye(len(direction))], axis=1
    )
    return Factored((np.hstack([pair, rest])[None], moving), ((grown * [1, -1])[:, None], pair.T[None]))


def _check_still_small(
    network: Network, data: Dataset, t: float, tolerances: Mapping[str, float]
) -> dict[str, float]:
    late = replace(
        SMALL, remedy=f"at t = {t:g} outputs matter: ask for earlier times, or simulate with bf.gradient_flow"
    )
    return {"small": late.check(network, data, tolerances.get("small_tolerance"))}
