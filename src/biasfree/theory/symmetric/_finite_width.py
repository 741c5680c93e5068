"""The error of the equivalence at finite width: positive and negative neurons of unequal norm."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from biasfree.arguments import public
from biasfree.arrays import Float, checked_leak, non_negative, real, whole
from biasfree.data import Dataset, Population
from biasfree.networks import Network
from biasfree.theory.hypotheses import RELU, WHITE, Hypothesis, check, result
from biasfree.theory.symmetric._aligned import SMALL_RANDOM, balanced, growing_part, sides
from biasfree.theory.symmetric._reduced_flow import reduced_flow
from biasfree.threads import load

_LARGEST = np.sqrt(2 - np.sqrt(2))  # the error as the smaller of |r₁⁺| and |r₁⁻| → 0


@public
@result("the final distance from the linear twin, from the initial weights", lambda: SMALL_RANDOM)
def final_weight_error(network: Network, data: Dataset | Population, **tolerances: float) -> float:
    """|√c·W − W_lin|/|W_lin| at t → ∞ from small random initial weights, W_lin the linear twin.

    err∞ = √((p − 1/√2)² + (m − 1/√2)²), p² = |r₁⁺|²/|r₁|², m² = 1 − p²: the linear network keeps its ±
    imbalance, the ReLU one loses it (slowly for leaks near 1; 0 for leak 1, its own twin). If r₁ has one sign
    only, no neuron balances the even part: the network ends at (1+α)/(1+α²)·w* on its half-line, and
    err∞ = 1 − (1+α)/√(2(1+α²)), 0.293 for ReLU. For very unequal |r₁±| the error has this value until the
    smaller part escapes, and err∞ afterwards. Accuracy: twice the `growing` defect.

    Assumes: as `aligned`, for any imbalance; t → ∞.
    Reference: derived here; the error is the one of [ZSL25] Fig. 1b (TMLR 3b).
    """
    check(SMALL_RANDOM, network, data, tolerances)
    p, m = sides(growing_part(network, data))
    if network.leak == 1:
        return 0.0
    return float(np.hypot(p - np.sqrt(0.5), m - np.sqrt(0.5))) if p * m > 0 else _one_sided(network.leak)


@dataclass(frozen=True)
class WeightErrorLaw:
    """The distribution of `final_weight_error` over Gaussian initial weights of one width.

    p² = |r₁⁺|²/|r₁|² is a Beta(n/2, (H − n)/2) variable given n positive entries of r₁, n ~ Binomial(H, ½):
    r₁ has independent Gaussian entries of equal variance. All entries have one sign with probability 2^{1−H},
    which is an atom at 1 − (1+α)/√(2(1+α²)). The rest does not depend on the leak α < 1; for α = 1 the error
    is 0. For wide networks err∞ ≈ σ·|N(0, 1)|, σ = ½√(3/H).

    Assumes: the entries of W₁(0) and W₂(0) are independent Gaussians, of equal variance within a layer.
    Reference: derived here.
    """

    width: int
    leak: float = 0.0

    def __post_init__(self):
        object.__setattr__(self, "width", whole("width", self.width))
        object.__setattr__(self, "leak", checked_leak(self.leak))

    @property
    def sigma(self) -> float:
        """σ = ½√(3/H), for wide networks."""
        return float(np.sqrt(3 / self.width) / 2)

    def cdf(self, error: ArrayLike) -> Float[np.ndarray, "*errors"]:
        """The probability that the error is at most `error`."""
        betainc = load("scipy.special").betainc
        binom = load("scipy.stats").binom

        error = real("error", error)
        if self.leak == 1:
            return np.where(error >= 0, 1.0, 0.0)
        epsilon = _imbalance(error)[..., None]
        n = np.arange(1, self.width)
        inside = betainc(n / 2, n[::-1] / 2, (1 + epsilon) / 2) - betainc(
            n / 2, n[::-1] / 2, (1 - epsilon) / 2
        )
        mixed = inside @ binom.pmf(n, self.width, 0.5)
        # rounding may put an error just below the atom
        one_sided = np.where(error > _one_sided(self.leak) - 1e-15, 2.0 ** (1 - self.width), 0.0)
        return np.where(error >= _LARGEST, 1.0, np.minimum(mixed + one_sided, 1.0))

    def quantile(self, share: float) -> float:
        """The least error that is not exceeded with probability `share`, to 1e-15."""
        share = non_negative("share", share)
        low = 0.0
        high = float(_LARGEST)
        if share > 1:
            raise ValueError(f"share must lie in [0, 1], got {share:g}.")
        if self.cdf(low) >= share:
            return low
        for _ in range(50):  # bisection: the distribution has a jump
            middle = (low + high) / 2
            low, high = (low, middle) if self.cdf(middle) >= share - 1e-15 else (middle, high)
        return high


@public
def final_weight_error_law(width: int, *, leak: float = 0.0) -> WeightErrorLaw:
    """The distribution of `final_weight_error` over Gaussian initial weights of `width` neurons.

    Reference: derived here; the error is the one of [ZSL25] Fig. 1b (TMLR 3b).
    """
    return WeightErrorLaw(width, leak)


@public
@result("positive and negative neurons learn as two linear networks", lambda: ASSUMES_HALVES)
def halves(network: Network, data: Dataset | Population, **tolerances: float) -> tuple[Network, Network]:
    """The two aligned networks that a ReLU network from small random initial weights splits into.

    Their initial norms are √2·|r₁⁺| and √2·|r₁⁻| instead of |r₁|: with α = 0 the positive neurons are active
    on one half of the data and the negative ones on the other, and on symmetric data each half has the
    moments of all data. Exact as the scale → 0 while both keep their direction: always for Σ = νI, otherwise
    until the larger one turns.

    Assumes: as `aligned`, for any imbalance of an r₁ of both signs; α = 0.
    Reference: derived here.
    """
    check(ASSUMES_HALVES, network, data, tolerances)
    return _halves(network, data)


@public
@result("the loss of initial weights whose ± parts have unequal norms", lambda: ASSUMES_SPLIT)
def split_loss(
    network: Network, data: Dataset | Population, ts: ArrayLike, **tolerances: float
) -> Float[np.ndarray, "T"]:
    """The square loss of a ReLU network from small random initial weights, including their ± imbalance.

    L(t) = ½[L₊(t) + L₋(t)], L± the loss of its `halves`. Exact as the scale → 0. For other Σ the halves turn
    at different times and become active on each other's samples (7 % of L(0) in an example); use
    `two_neuron_flow`.

    Assumes: as `halves`; Σ = νI (white_tolerance=1e-8).
    Reference: derived here.
    """
    check(ASSUMES_SPLIT, network, data, tolerances)
    positive, negative = (reduced_flow(half, data, ts) for half in _halves(network, data))
    return (positive.loss + negative.loss) / 2


def _halves(network: Network, data: Dataset | Population) -> tuple[Network, Network]:
    growing = growing_part(network, data)
    positive, negative = (
        replace(balanced(growing), norm=np.sqrt(2) * growing.norm * part).network() for part in sides(growing)
    )
    return positive, negative


def _imbalance(error: Float[np.ndarray, "*errors"]) -> Float[np.ndarray, "*errors"]:
    """The ε = |p² − m²| at which the error is `error`: √(1 − ε²) = (p + m)² − 1, p + m = (2 − err²)/√2."""
    square = np.clip(error, 0, _LARGEST) ** 2
    missing = np.clip(2 * square - square**2 / 2, 0, 1)  # 1 − √(1 − ε²)
    return np.sqrt(missing * (2 - missing))


def _one_sided(leak: float) -> float:
    """The error of an r₁ of one sign: √c·√(|w*|(1+α)/(1+α²)) against √|w*|, along one vector."""
    return float(1 - (1 + leak) / np.sqrt(2 * (1 + leak**2)))


def _signs_missing(network: Network, data: Dataset | Population) -> float:
    if network.depth != 2 or network.sizes[-1] != 1 or not data.beta.any():
        return np.nan
    return float(np.sum(sides(growing_part(network, data)) == 0))


SIDES = Hypothesis(
    "sides",
    "neurons of both signs along β",
    "the number of signs that r₁ lacks",
    _signs_missing,
    "use bf.theory.two_sigmoid_flow or bf.theory.two_neuron_flow, which need one sign only",
)
ASSUMES_HALVES: tuple[Hypothesis, ...] = (*SMALL_RANDOM, RELU, SIDES)
ASSUMES_SPLIT: tuple[Hypothesis, ...] = (*ASSUMES_HALVES, WHITE)
