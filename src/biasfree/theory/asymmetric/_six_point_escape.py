"""The escape of a ReLU network from the linear plateau of the six points, to leading order in δ.

Name neurons by the samples that they are active on: R by the three with x₁ > 0, L by the three with x₁ < 0.
On the plateau the large neurons are R and L. Either kind is at the least-squares map of its own three samples
and has zero gradient. The escape is due to the neurons in the wedge between the hyperplanes of (−1, 0) and
(1, δ), near +x₂:

1. While outputs are small, the force on a neuron is (1, 0)/6 on either side of the wedge and (0, −δ)/6
   inside. A neuron with w₁a < 0 < w₂ and |a| > |w₁| turns into the wedge: it enters after the time
   6 artanh|w₁/a|, with a² reduced by w₁². From then on ẇ₂ = −aδ/6 and ȧ = −w₂δ/6. For a > 0 both shrink: a
   may change its sign, and a neuron whose w₂ reaches 0 leaves the wedge for good.
2. On the plateau the wedge attracts. Its neurons slide along an edge, those with a > 0 along the hyperplane
   of (1, δ), those with a < 0 along that of (−1, 0), and grow at rates that are both δ/9 + O(δ²).
3. The two kinds together lower the loss, L = (4/9)(1 − κ/4)² with κ = δ√(A₊A₋), A± the sum of a² of either
   kind. The forces on them fall as 1 − κ/4, so κ̇ = 2(δ/9)κ(1 − κ/4), a sigmoid. One kind alone lowers the
   loss by O(δ²) and stops.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from biasfree.arguments import public
from biasfree.arrays import Bool, Float, finite, increasing_times, non_negative, representable
from biasfree.data import Dataset, Population, six_points
from biasfree.networks import Network
from biasfree.theory.hypotheses import RELU, SETTING, SMALL, Hypothesis, check, result
from biasfree.theory.symmetric._aligned import GROWING

_RIGHT = [0, 2, 5]  # the samples with x₁ > 0
_SPEED = 1 / 3  # the rate of the first fall, |β| = 2c|β| at δ = 0
_FULL = 4.0  # κ at which the loss is 0


@dataclass(frozen=True)
class SixPointEscape:
    """The escape from the plateau of the six points: its rate, κ, duration and loss.

    `rate` is that of κ while κ is small; `begins` is the time at which the loss is half-way from its initial
    value to that of the plateau; `initial` is κ at that time, 0 for a network that never escapes. `plateau`
    is the loss of least squares at δ = 0.
    """

    delta: float
    rate: float
    begins: float
    initial: float
    plateau: ClassVar[float] = 4 / 9

    @property
    def escapes(self) -> bool:
        """Whether the network ever leaves the plateau: it has wedge neurons of both signs, and δ > 0."""
        return self.initial > 0

    @property
    def stuck_level(self) -> float:
        """The final loss of a network whose wedge neurons all have a < 0: the minimum for its features.

        These are R, L and x₂ on the samples above the x₁ axis. With a > 0 only, the end is a little above.
        """
        data = _points(self.delta)
        wedge = np.where(np.isin(np.arange(6), [0, 3, 5]), data.x[:, 1], 0.0)
        f = _fit(np.column_stack([*_halves(data), wedge]), data.y)
        return float(np.mean((data.y - f) ** 2) / 2)

    @property
    def nonlinear_share(self) -> float:
        """The nonlinear share of the output on the plateau, where R and L have different maps."""
        data = _points(self.delta)
        f = _fit(np.column_stack(_halves(data)), data.y)
        return float(np.sum((f - _fit(data.x, f)) ** 2) / np.sum(f**2))

    def kappa(self, ts: ArrayLike) -> Float[np.ndarray, "T"]:
        """κ(t) = 4/(1 + (4/κ₀ − 1)e^{−rate·(t − begins)}) from `begins` on, κ₀ = `initial` before."""
        return _FULL * self._progress(increasing_times(ts, infinite=True))

    def loss(self, ts: ArrayLike) -> Float[np.ndarray, "T"]:
        """L(t) = (4/9)(1 − κ/4)² + (1 − q)²/18, q the sigmoid of the first fall, down to the plateau."""
        ts = increasing_times(ts, infinite=True)
        with np.errstate(over="ignore"):  # long before the fall, where q is 0
            share = 1 / (1 + np.exp(-_SPEED * (ts - self.begins)) * np.sqrt(2) / (2 - np.sqrt(2)))
        return self.plateau * (1 - self._progress(ts)) ** 2 + (1 - share) ** 2 / 18

    def duration(self, share: float = 0.8) -> float:
        """The time from `begins` until the loss is `share` times the plateau's; infinity for no escape.

        ln[κ₁(4 − κ₀)/((4 − κ₁)κ₀)]/rate, κ₁ = 4(1 − √share).
        """
        if not 0 < finite("share", share) < 1:
            raise ValueError(f"share must lie between 0 and 1, got {share!r}; 1 is the plateau's loss.")
        if not self.escapes:
            return np.inf
        start = self.initial
        end = _FULL * (1 - np.sqrt(share))
        rest = _FULL - end if share > 1e-6 else _FULL * np.sqrt(share)  # digits cancel
        return max(float(np.log(end / rest * (_FULL - start) / start) / self.rate), 0.0)

    def _progress(self, ts: Float[np.ndarray, "T"]) -> Float[np.ndarray, "T"]:
        """κ/4."""
        if not self.escapes:
            return np.zeros(len(ts))
        since = np.maximum(ts - self.begins, 0)
        return self.initial / (self.initial + (_FULL - self.initial) * np.exp(-self.rate * since))


@public
@result(
    "six points, nearly symmetric: the plateau ends by wedge neurons, at a rate of 2δ/9",
    lambda: ASSUMES,
)
def six_point_escape(network: Network, delta: float, **tolerances: float) -> SixPointEscape:
    """The escape of small initial weights from the linear plateau of `bf.data.six_points(delta)`.

    The plateau is ended by the wedge neurons, those between the hyperplanes of (−1, 0) and (1, δ), near +x₂:
    κ = δ√(A₊A₋), A± the sums of their a² over a > 0 and a < 0; κ̇ = rate·κ(1 − κ/4), L = (4/9)(1 − κ/4)²,
    rate = δ[(1−δ)(3−δ)/√(1+δ²) + 3 + δ]/(9(3+δ²)) = 2δ/9 + O(δ²). κ₀ follows from the initial weights, and
    the plateau lasts for about ln(const/κ₀)·9/(2δ). At δ = 0, or without wedge neurons of both signs, the
    duration is infinite.

    Accuracy: relative errors of κ, loss and duration are of order δ; simulated durations are 1 % longer at
    δ = 0.1 and 4 % at 0.2. A neuron that hardly enters the wedge, or only as the loss falls, may be counted
    wrongly: κ₀ then changes by a factor, and the duration by the logarithm of the factor over the rate.

    This is the escape from the second plateau, at the least-squares map; `growth_rate` and `escape_time` are
    about the first one, at zero outputs, on symmetric data.

    Assumes: two layers, one output, no biases; two inputs; α = 0; square loss; δ < 1, and 2δ ≪ 1, the rate of
    escape over the rate, 1/9, at which the large neurons return to least squares (delta_tolerance=0.5); small
    initial weights (small_tolerance=1e-2) whose growing part dominates (growing_tolerance=0.1); neurons that
    learn the halves x₁ > 0 and x₁ < 0 of the data, at about the same time (halves_tolerance=0.5).
    Reference: derived here, for [ZSL25] TMLR Fig. 6.
    """
    delta = non_negative("delta", delta)
    check(_NETWORK, network, None, {})
    check(_WEIGHTS, network, _points(delta), tolerances)
    begins = _first_fall(network)
    return SixPointEscape(delta, _rate(delta), begins, _initial(network, delta, begins))


def _first_fall(network: Network) -> float:
    """The time at which the loss is half-way to the plateau, at δ = 0; 0 for large weights."""
    with np.errstate(over="ignore", divide="ignore"):
        size = np.sum((network.weights[0][:, 0] + network.weights[1][0]) ** 2) / 8  # u₀² = |r₁|²/2
        share = 1 - np.sqrt(1 / 2)  # of the least-squares map
        found = np.log(max((_SPEED / size - 1) * share / (1 - share), 1.0)) / _SPEED
    return float(representable("the time of the first fall", found))


def _initial(network: Network, delta: float, begins: float) -> float:
    """κ when the plateau begins: 0 where no neuron of one sign is in the wedge."""
    turning = _turning(network)
    (w1, w2), a = network.weights[0][turning].T, network.weights[1][0, turning]
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        left = begins - 6 * np.arctanh(np.abs(w1 / a))
        turn = delta * np.maximum(left, 0) / 6
        a = np.sign(a) * np.sqrt(a**2 - w1**2)
        a, w2 = a * np.cosh(turn) - w2 * np.sinh(turn), w2 * np.cosh(turn) - a * np.sinh(turn)
        inside = (w2 > 0) & (left > 0)
        growing = np.where(inside, (w2 + np.abs(a)) / 2, 0.0) ** 2
        product = growing[a > 0].sum() * growing[a < 0].sum()
        found = float(delta * np.sqrt(product))
    both = (inside & (a > 0)).any() and (inside & (a < 0)).any()
    if delta > 0 and both and not min(product, found) >= np.finfo(float).tiny:
        raise ValueError(
            f"κ at the beginning of the plateau, {found:g}, is too small for floating-point numbers; use "
            "larger weights or a larger delta."
        )
    return found


def _turning(network: Network) -> Bool[np.ndarray, "H"]:
    """The neurons that turn into the wedge while outputs are small."""
    (w1, w2), a = network.weights[0].T, network.weights[1][0]
    return (w1 * a < 0) & (w2 > 0) & (np.abs(a) > np.abs(w1))


@lru_cache(maxsize=64)
def _points(delta: float) -> Dataset:
    """The six points, which many networks of one δ share."""
    return six_points(delta)


def _rate(delta: float) -> float:
    """The rate of κ: of sliding along both edges, while R and L are at their least squares."""
    upper = (1 - delta) * (3 - delta) / np.sqrt(1 + delta**2)
    return float(delta * (upper + 3 + delta) / (9 * (3 + delta**2)))


def _halves(data: Dataset) -> tuple[np.ndarray, np.ndarray]:
    """The inputs on which R, and those on which L, is active; 0 elsewhere."""
    right = np.isin(np.arange(6), _RIGHT)[:, None]
    return np.where(right, data.x, 0.0), np.where(right, 0.0, data.x)


def _fit(features: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The least-squares fit of the features to y."""
    return features @ np.linalg.lstsq(features, y, rcond=None)[0]


def _delta_of(data: Dataset | Population) -> float:
    """δ of the one sample (1, δ) with the label −1; NaN where there is no such sample or more than one."""
    if isinstance(data, Population) or data.dimensions != 2 or data.outputs != 1:
        return np.nan
    found = (data.x[:, 0] == 1) & (data.targets[:, 0] == -1)
    return float(data.x[found, 1][0]) if np.count_nonzero(found) == 1 else np.nan


def _points_defect(network: Network, data: Dataset | Population) -> float:  # noqa: ARG001
    delta = _delta_of(data)
    if isinstance(data, Population) or len(data) != 6 or not delta >= 0:
        return np.nan
    given, meant = (np.column_stack([d.x, d.targets]) for d in (data, six_points(delta)))
    given, meant = (rows[np.lexsort(rows.T)] for rows in (given, meant))
    return float(np.abs(given - meant).max())


def _delta_defect(network: Network, data: Dataset | Population) -> float:  # noqa: ARG001
    """2δ: the rate 2δ/9 over 1/9. At δ = 1 neurons with a > 0 stop growing, (1, δ) being (1, 1)."""
    delta = _delta_of(data)
    return 2 * delta if delta < 1 else np.nan


def _halves_defect(network: Network, data: Dataset) -> float:  # noqa: ARG001
    """|ln(|r₁⁺|²/|r₁⁻|²)|/6: between the two falls, for 3|ln …|, wedge neurons feel forces of ±1/18 along x₂.

    By their sign they grow or shrink by e^{±|ln …|/6}, so κ does not change unless one leaves the wedge.
    """
    if network.depth != 2 or network.sizes[0] != 2 or network.sizes[-1] != 1:
        return np.nan
    r1 = np.where(_turning(network), 0.0, network.weights[0][:, 0] + network.weights[1][0])
    largest = np.abs(r1).max() or 1.0
    up, down = (np.sum(np.maximum(sign * r1 / largest, 0) ** 2) for sign in (1, -1))
    return float(np.abs(np.log(up / down)) / 6) if up > 0 and down > 0 else np.inf


PLANE = Hypothesis(
    "inputs",
    "two inputs, as the six points have,",
    "the difference of the number of inputs from two",
    lambda network, _: abs(network.sizes[0] - 2),
    "use a network of two inputs",
)
SIX_POINTS = Hypothesis(
    "six_points",
    "the six points of TMLR Fig. 6",
    "the largest difference from bf.data.six_points(delta) in a coordinate or a label",
    _points_defect,
    "use bf.data.six_points(delta), or simulate with bf.gradient_flow",
)
SMALL_DELTA = Hypothesis(
    "delta",
    "a small δ, so that R and L stay at their least squares while wedge neurons grow,",
    "2δ, the rate of escape over the slowest rate at which R and L return,",
    _delta_defect,
    "use a smaller delta (it must be below 1), or simulate with bf.gradient_flow",
    tolerance=0.5,
)
HALVES = Hypothesis(
    "halves",
    "neurons that learn both halves of the data at about the same time",
    "|ln(|r₁⁺|²/|r₁⁻|²)|/6, r₁ = (w₁ + a)/2 of all but wedge neurons (infinity for one sign only),",
    _halves_defect,
    "use a wider network, or simulate with bf.gradient_flow",
    tolerance=0.5,
)
_NETWORK = (*SETTING, PLANE, RELU)
_WEIGHTS = (SMALL_DELTA, SMALL, GROWING, HALVES)
ASSUMES: tuple[Hypothesis, ...] = (*_NETWORK, SIX_POINTS, *_WEIGHTS)
