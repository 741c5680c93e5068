"""The early phase: training from small weights while outputs are negligible, and how long it lasts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from biasfree.arguments import public
from biasfree.arrays import Float, increasing_times, non_negative
from biasfree.data import Dataset, Population
from biasfree.losses import Loss, Square
from biasfree.networks import Network
from biasfree.theory.hypotheses import SETTING, SMALL, SYMMETRY, check, result
from biasfree.theory.hypotheses._hypothesis import AssumptionError
from biasfree.theory.parts._expectations import mean_loss
from biasfree.theory.parts._linear_loss import loss_on
from biasfree.theory.parts._moments import mean_square, strength, times_sigma, trace
from biasfree.theory.symmetric._aligned import EARLY, SMALL_RANDOM, growing_part, sides
from biasfree.trajectory import Factored, Stats, Trajectory

ASSUMES_BOUND = (*SETTING, SYMMETRY)
_ROUNDING = 1e-8  # of the weights: half of the digits
#: κ₁, κ₂ of g(w) ≈ κ₁β − κ₂Σw. Under other losses the force at zero outputs is not along β.
_SLOPES = {"square": (1.0, 1.0), "logistic": (0.5, 0.25)}

_lemma12 = result("weights grow no faster than e^{(s + TrΣ)t}, up to a time", lambda: ASSUMES_BOUND)
_growth = result(
    "weights grow no faster than e^{cst} at all times, and at this rate in the early phase",
    lambda: ASSUMES_BOUND,
)


@public
@result("the early phase is linear", lambda: EARLY, until="outputs are no longer negligible")
def early_flow(
    network: Network,
    data: Dataset | Population,
    ts: ArrayLike,
    *,
    loss: str = "square",
    l2: float = 0.0,
    **tolerances: float,
) -> Trajectory:
    """Gradient flow in the early phase, in closed form: outputs are neglected.

    W₁ = e^{−λt}[e^{κt}r₁β̄ᵀ + e^{−κt}r₂β̄ᵀ + W₁(0)(I − β̄β̄ᵀ)],  W₂ = e^{−λt}[e^{κt}r₁ − e^{−κt}r₂]ᵀ,
    r₁, r₂ = (W₁(0)β̄ ± W₂(0)ᵀ)/2; κ = cs for the square loss, cs/2 for the logistic one. Times at which
    outputs are no longer negligible are refused. Accuracy: the relative error is of the order of the `small`
    defect at the last of `ts`, and `early_error` bounds it. Thm. 13 states an error O(w_init) up to
    `lemma12_window`, which fails where cs > ⅔(s + TrΣ) (erratum 8).

    Assumes: Condition 3 (symmetry_tolerance=1e-8), labels ±1 for the logistic loss; β ≠ 0
    (target_tolerance=1e8); cu²|Σ|/s ≪ 1 at every time of `ts`, u the larger norm (small_tolerance=1e-2); at
    the last of `ts`, rounding of r₁ that has grown to at most 1e-8 of the weights.
    Reference: [ZSL25] Thm. 13, Eq. 23; the logistic and L2 rates are derived here.
    """
    ts = increasing_times(ts)
    l2 = non_negative("l2", l2)
    kind = loss_on(loss, data, solved=_SLOPES)
    defects = check(EARLY, network, data, tolerances)
    kappa = _rate(network, data, kind)
    direction = data.beta.reshape(-1) / strength(data)
    factors = _modes(network, direction, kappa, ts, l2)
    last = Network(factors.at(-1), leak=network.leak)
    remedy = f"outputs matter at t = {ts[-1]:g}: end ts earlier, or simulate with bf.gradient_flow"
    still_small = replace(SMALL, remedy=remedy)
    defects["small"] = still_small.check(last, data, tolerances.get("small_tolerance"))
    defects["rounding"] = _check_decided(network, last, (kappa - l2) * ts[-1])
    networks = [Network(factors.at(i), leak=network.leak) for i in range(len(ts))]
    values = np.array([mean_loss(net, data, kind) for net in networks])
    return Trajectory(
        ts=ts,
        weights=factors,
        loss=values,
        objective=values + l2 / 2 * np.array([np.sum(net.norms**2) for net in networks]),
        leak=network.leak,
        stats=Stats("early_flow", defects=defects),
    )


@public
@_growth
def growth_rate(
    network: Network,
    data: Dataset | Population,
    *,
    loss: str = "square",
    l2: float = 0.0,
    **tolerances: float,
) -> float:
    """The rate at which the weights grow while outputs are negligible: cs − λ, or cs/2 − λ (logistic).

    It is the rate of the first escape, from zero outputs; `six_point_escape` has that of the second one, from
    least squares, on data that are nearly symmetric.

    Assumes: two layers of one output, no biases; Condition 3 (symmetry_tolerance=1e-8); labels ±1 for the
    logistic loss.
    Reference: [ZSL25] Thm. 13; the logistic and L2 rates are derived here.
    """
    l2 = non_negative("l2", l2)
    kind = loss_on(loss, data, solved=_SLOPES)
    check(ASSUMES_BOUND, network, data, tolerances)
    return _rate(network, data, kind) - l2


@public
@result("weights grow along one direction until the loss falls", lambda: SMALL_RANDOM)
def escape_time(
    network: Network,
    data: Dataset | Population,
    *,
    loss: str = "square",
    l2: float = 0.0,
    **tolerances: float,
) -> float:
    """The time at which small random initial weights escape from zero: the middle of the loss's first fall.

    t = ln[κ/(κ₂β̄ᵀΣβ̄(½(1+α²)ρ + αρ′))]/2κ, ρ ≥ ρ′ the two of |r₁±|², κ = cκ₁s − λ: the neurons of one sign
    of r₁ grow as e^{κt} until their own outputs and, where α > 0, those of the other sign stop them.
    (κ₁, κ₂) = (1, 1) for the square loss, (½, ¼) for the logistic one. For ρ = ρ′ the bracket is
    κ/(κ₂β̄ᵀΣβ̄c²|r₁|²), and for Σ = νI and the square loss t is the midpoint of the sigmoid: the map has half
    its final norm. If r₁ has one sign only, t is ln 2/s earlier (α = 0). Infinity where L2 prevents growth.
    Accuracy: the relative error of r₁, given by the `growing` defect, shifts t by that error over κ.

    The plateau that `bf.diagnostics.plateaus` measures ends earlier, by some multiple of 1/κ: where the loss
    begins to fall. This is the first escape, from zero outputs; `six_point_escape` is about a second one,
    from least squares.

    Assumes: as `aligned`, but r₁ may have one sign only; labels ±1 for the logistic loss.
    Reference: derived here from [ZSL25] Thm. 13.
    """
    l2 = non_negative("l2", l2)
    kind = loss_on(loss, data, solved=_SLOPES)
    check(SMALL_RANDOM, network, data, tolerances)
    growing = growing_part(network, data)
    alpha = network.leak
    rate = _rate(network, data, kind) - l2
    curvature = _SLOPES[kind.name][1]
    smaller, larger = np.sort(sides(growing)) ** 2
    own = (
        curvature
        * float(times_sigma(growing.r, data) @ growing.r)
        * ((1 + alpha**2) / 2 * larger + alpha * smaller)
    )
    if rate <= 0:
        return np.inf
    grown = np.log(rate / own) - 2 * np.log(growing.norm)
    return float(grown / (2 * rate)) if grown > 0 else np.inf


@public
@_lemma12
def lemma12_bound(
    network: Network,
    data: Dataset | Population,
    ts: ArrayLike,
    *,
    any_data: bool = False,
    **tolerances: float,
) -> Float[np.ndarray, "T"]:
    """The bound u(t) ≤ u(0)e^{(s + TrΣ)t/τ} on the larger norm of a layer, up to `lemma12_window`.

    With `any_data` the rate is √(⟨y²⟩TrΣ) + TrΣ and no symmetry is needed, since
    |⟨1[r·x>0]yx⟩| ≤ √(⟨y²⟩TrΣ) may exceed s. The rate s + TrΣ needs Condition 3, through Lemma 11, which
    the paper does not state: for x = ±1 and y = 10 the norm is 3 where that bound is 0.001 (erratum 7).

    Assumes: two layers of one output, no biases, square loss; Condition 3 (symmetry_tolerance=1e-8) unless
    `any_data`.
    Reference: [ZSL25] Lemma 12, Eq. 17; the rate for any data is derived here.
    """
    rate = _lemma12_rate(network, data, any_data, tolerances)
    return _grown(network, rate * increasing_times(ts))


@public
@_lemma12
def lemma12_window(
    network: Network, data: Dataset | Population, *, any_data: bool = False, **tolerances: float
) -> float:
    """The time τ·ln(1/u(0))/(s + TrΣ) until which Lemma 12 holds: far shorter than the plateau.

    With `any_data` the rate is that of `lemma12_bound`. Infinity for zero weights or inputs: nothing moves.

    Assumes: as `lemma12_bound`.
    Reference: [ZSL25] Lemma 12; 0 for u(0) ≥ 1, which it does not cover.
    """
    rate = _lemma12_rate(network, data, any_data, tolerances)
    size = network.norms.max()
    if size >= 1:
        return 0.0
    return -float(np.log(size)) / rate if size > 0 and rate > 0 else np.inf


@public
@_growth
def norm_bound(
    network: Network, data: Dataset | Population, ts: ArrayLike, **tolerances: float
) -> Float[np.ndarray, "T"]:
    """The bound u(t) ≤ u(0)e^{cst/τ} on the larger norm of a layer: sharper than Lemma 12, for all times.

    Assumes: two layers of one output, square loss, any weights; Condition 3 (symmetry_tolerance=1e-8).
    Reference: derived here; compare [ZSL25] Lemma 12.
    """
    check(ASSUMES_BOUND, network, data, tolerances)
    return _grown(network, _rate(network, data, Square()) * increasing_times(ts))


@public
@_growth
def early_error(
    network: Network, data: Dataset | Population, ts: ArrayLike, **tolerances: float
) -> Float[np.ndarray, "T"]:
    """A bound on |W(t) − W̃(t)|, the distance of gradient flow from `early_flow`, valid at all times.

    √2·TrΣ·u(0)³·e^{κt}(e^{2κt} − 1)/(2κ), κ = cs, over both layers: the part of the velocity that
    `early_flow` neglects has norm at most √2·TrΣ·u³ (Lemmas 8 and 9), and u(t) ≤ u(0)e^{κt}.

    Assumes: as `norm_bound`.
    Reference: derived here; the proof of [ZSL25] Thm. 13 bounds it with Lemma 12.
    """
    check(ASSUMES_BOUND, network, data, tolerances)
    kappa = _rate(network, data, Square())
    ts = increasing_times(ts)
    with np.errstate(over="ignore", divide="ignore"):  # ln 0 is a bound of 0; an infinite bound is valid
        mean = np.log(-np.expm1(-2 * kappa * ts) / (2 * kappa)) if kappa > 0 else np.log(ts)
        factor = np.log(np.sqrt(2) * trace(data))
        return np.exp(factor + 3 * (np.log(network.norms.max()) + kappa * ts) + mean)


def _rate(network: Network, data: Dataset | Population, kind: Loss) -> float:
    """cκ₁s."""
    return (1 + network.leak) / 2 * _SLOPES[kind.name][0] * strength(data)


def _lemma12_rate(
    network: Network, data: Dataset | Population, any_data: bool, tolerances: Mapping[str, float]
) -> float:
    check(SETTING if any_data else ASSUMES_BOUND, network, data, tolerances)
    total = trace(data)
    target = np.sqrt(mean_square(data) * total) if any_data else strength(data)
    return float(target) + total


def _grown(network: Network, exponents: Float[np.ndarray, "T"]) -> Float[np.ndarray, "T"]:
    """u(0)e^{exponents}; an infinite bound is valid."""
    with np.errstate(over="ignore", divide="ignore"):
        return np.exp(np.log(network.norms.max()) + exponents)


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


def _check_decided(network: Network, last: Network, exponent: float) -> float:
    """The share of the last weights that is rounding of r₁, Dε|W(0)|e^{κt}/|W(t)|; refused above 1e-8.

    Where r₁ = 0 to rounding, as for W₁ = −W₂ᵀβ̄ᵀ, weights shrink until rounding decides what grows.
    """
    sizes = [np.log(one.norms.max()) if one.norms.any() else -np.inf for one in (network, last)]
    if sizes[0] == -np.inf:
        return 0.0
    grown = exponent + sizes[0] - sizes[1]
    share = network.sizes[0] * np.finfo(float).eps * float(np.exp(min(grown, 700.0)))
    if share > _ROUNDING:
        raise AssumptionError(
            "initial weights whose growing part r₁ is more than rounding",
            "the share of rounding in the weights at the last of ts",
            defect=share,
            tolerance=_ROUNDING,
            remedy="end ts earlier, use another seed, or simulate with bf.gradient_flow",
        )
    return share
