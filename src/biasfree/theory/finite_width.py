"""What a finite width costs: the equivalence from a random start, to leading order in the ± imbalance."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from biasfree.arrays import non_negative, real, whole
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.theory.alignment import ASSUMES, SMALL_START, balanced, growing_part
from biasfree.theory.assumptions import RELU, check
from biasfree.theory.rank_one import RankOne
from biasfree.theory.reduced import reduced_flow

if TYPE_CHECKING:
    from jaxtyping import Float
    from numpy.typing import ArrayLike

ASSUMES_HALVES = (*ASSUMES, RELU)
_LARGEST = np.sqrt(2 - np.sqrt(2))  # the error of a draw of one sign only


def final_weight_error(network: Network, data: Dataset, **tolerances: float) -> float:
    """|√c·W − W_lin|/|W_lin| at the end of training from a small random start, W_lin the linear twin.

    err∞ = √((p − 1/√2)² + (m − 1/√2)²), p² = |r₁⁺|²/|r₁|², m² = 1 − p²: the linear network keeps its ±
    imbalance, the ReLU one loses it (slowly for leaks near 1; 0 for leak 1, its own twin).

    Assumes: as `aligned`; t → ∞.
    Reference: derived here; the error is the one of [ZSL25] Fig. 1b (TMLR 3b).
    """
    if network.leak == 1:
        return 0.0
    check(SMALL_START, network, data, tolerances)
    half = np.sqrt(1 / 2)
    p, m = _parts(growing_part(network, data))
    return float(np.hypot(p - half, m - half))


@dataclass(frozen=True)
class WeightErrorLaw:
    """The law of `final_weight_error` over Gaussian starts of one width.

    p² = |r₁⁺|²/|r₁|² is a Beta(n/2, (H − n)/2) variable given n positive entries of r₁, n ~ Binomial(H, ½):
    r₁ has independent Gaussian entries of equal variance. For wide networks err∞ ≈ σ·|N(0, 1)|, σ = ½√(3/H).

    Assumes: the entries of W₁(0) and W₂(0) are independent Gaussians, of equal variance within a layer.
    Reference: derived here.
    """

    width: int

    def __post_init__(self):
        object.__setattr__(self, "width", whole("width", self.width))

    @property
    def sigma(self) -> float:
        """σ = ½√(3/H) of the law for wide networks."""
        return float(np.sqrt(3 / self.width) / 2)

    def cdf(self, error: ArrayLike) -> Float[np.ndarray, "*errors"]:
        """The share of draws whose error is at most `error`."""
        from scipy.special import betainc
        from scipy.stats import binom

        error = real("error", error)
        epsilon = _imbalance(error)[..., None]
        n = np.arange(1, self.width)
        inside = betainc(n / 2, n[::-1] / 2, (1 + epsilon) / 2) - betainc(
            n / 2, n[::-1] / 2, (1 - epsilon) / 2
        )
        mixed = inside @ binom.pmf(n, self.width, 0.5)
        one_sided = np.where(error > _LARGEST - 1e-15, 2.0 ** (1 - self.width), 0.0)
        return np.minimum(mixed + one_sided, 1.0)

    def quantile(self, share: float) -> float:
        """The error that a share of the draws does not exceed."""
        from scipy.optimize import brentq

        share = non_negative("share", share)
        if share > 1:
            raise ValueError(f"share must lie in [0, 1], got {share:g}.")
        root: Any = brentq(lambda error: float(self.cdf(error)) - share, 0.0, _LARGEST, xtol=1e-12)
        return float(root)


def final_weight_error_law(width: int) -> WeightErrorLaw:
    """The law of `final_weight_error` over Gaussian starts of `width` neurons.

    Reference: derived here; the error is the one of [ZSL25] Fig. 1b (TMLR 3b).
    """
    return WeightErrorLaw(width)


def halves(network: Network, data: Dataset, **tolerances: float) -> tuple[Network, Network]:
    """The two aligned networks that a ReLU network from a small random start splits into.

    They start from √2·|r₁⁺| and √2·|r₁⁻| instead of |r₁|: with α = 0 the positive neurons see one half of
    the data and the negative ones the other, and on symmetric data each half has the moments of the whole.

    Assumes: as `aligned`, and α = 0.
    Reference: derived here.
    """
    check(ASSUMES_HALVES, network, data, tolerances)
    growing = growing_part(network, data)
    positive, negative = (
        replace(balanced(growing), norm=np.sqrt(2) * growing.norm * part).network()
        for part in _parts(growing)
    )
    return positive, negative


def split_loss(network: Network, data: Dataset, ts: ArrayLike, **tolerances: float) -> Float[np.ndarray, "T"]:
    """The square loss of a ReLU network from a small random start, its ± imbalance included.

    L(t) = ½[L₊(t) + L₋(t)], L± the loss of its `halves`. Exact as the scale → 0 for Σ = νI; for other Σ up
    to terms of second order in the imbalance times |Σ − νI|/ν, since then the directions of the halves part.

    Assumes: as `aligned`, and α = 0.
    Reference: derived here.
    """
    positive, negative = (reduced_flow(half, data, ts) for half in halves(network, data, **tolerances))
    return (positive.loss + negative.loss) / 2


def _imbalance(error: Float[np.ndarray, "*errors"]) -> Float[np.ndarray, "*errors"]:
    """The ε = |p² − m²| at which the error is `error`: √(1 − ε²) = (p + m)² − 1, p + m = (2 − err²)/√2."""
    square = np.clip(error, 0, _LARGEST) ** 2
    missing = np.clip(2 * square - square**2 / 2, 0, 1)  # 1 − √(1 − ε²)
    return np.sqrt(missing * (2 - missing))


def _parts(growing: RankOne) -> tuple[float, float]:
    """(p, m): the norms of the positive and of the negative part of r₁/|r₁|."""
    positive, negative = np.maximum(growing.neurons, 0), np.minimum(growing.neurons, 0)
    return float(np.linalg.norm(positive)), float(np.linalg.norm(negative))
