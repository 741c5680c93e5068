"""Independent subnetworks, one per point: initial strengths, growth, and the network they form."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from biasfree.arrays import Bool, Float, row_norms
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.theory.parts._hyperplanes import on_hyperplanes
from biasfree.threads import load
from biasfree.trajectory import Factored

_LONGEST = 1e304  # largest s_i t; beyond it Ei(z) overflows


@dataclass(frozen=True, eq=False)
class Subnetworks:
    """W₁ = Σ_i √ρ_i v̂_i x̂_iᵀ, W₂ = Σ_i sgn(y_i)√ρ_i v̂_iᵀ: ln ρ_i(0), the unit vectors v̂_i, and their data.

    The v̂_i have no neuron in common; a point without neurons has v̂_i = 0 and ln ρ_i = −∞. `sorting`
    describes how neurons were sorted, in units of the largest weight; see `relative_error`.
    """

    log_start: Float[np.ndarray, "P"]
    neurons: Float[np.ndarray, "H P"]
    directions: Float[np.ndarray, "P D"]
    size: Float[np.ndarray, "P"]
    targets: Float[np.ndarray, "P"]
    sorting: _Sorting

    @classmethod
    def of(cls, network: Network, data: Dataset, *, sort: bool = True) -> Subnetworks:
        """The subnetworks of small initial weights; see `independent_network`."""
        size = row_norms(data.x)
        y = data.targets[:, 0]
        directions = data.x / size[:, None]
        # dividing by the largest weight first keeps squares of tiny weights from underflowing
        largest = max(np.abs(w).max() for w in network.weights) or 1.0
        along = network.weights[0] / largest @ directions.T
        a = network.weights[1][0] / largest
        reach = np.where(on_hyperplanes(network, data), 0.0, np.maximum(along, 0))
        forces = np.abs(y / np.abs(y).max()) * (size / size.max())  # only their ratios matter
        sorting = _sorted(reach, a, y, forces)
        toward = (reach > 0) & (np.outer(a, y) > 0)
        g = sorting.g if sort else np.where(toward, (reach + np.abs(a)[:, None]) / 2, 0.0)
        norm = np.linalg.norm(g, axis=0)
        with np.errstate(divide="ignore"):  # ln 0 = −∞: a point without neurons
            log_start = 2 * (np.log(norm) + np.log(largest))
        return cls(log_start, g / np.where(norm > 0, norm, 1), directions, size, y, sorting)

    def relative_error(self, outputs: float) -> float:
        """The largest relative error of a ρ_i(0) caused by initial outputs of this share of the targets.

        Outputs grow as e^{2st}, s the larger rate of a neuron's points, and act until it is sorted at t*: the
        relative error of its g² is e_h = outputs·e^{2st*}. A neuron that ends on point i contributes its g².
        One that leaves i contributes the g² that it would have if it stayed, which is possible for e_h near
        1.
        """
        one = self.sorting
        error = np.minimum(outputs * one.delays, 1.0) if outputs > 0 else 0 * one.active[:, 0]
        total = np.sum(one.g**2, axis=0)
        left = one.active & ~(one.g > 0)
        kept = error @ one.g**2
        might = np.where(left, one.stayed, 0.0)
        away = np.minimum(error[:, None] * left, _over(error[:, None] * might, total))
        return float(np.max(_over(kept, total) * (total > 0) + away.sum(axis=0), initial=0.0))

    @property
    def rates(self) -> Float[np.ndarray, "P"]:
        """s_i = |y_i||x_i|/P."""
        return np.abs(self.targets) * self.size / len(self.size)

    @property
    def log_limit(self) -> Float[np.ndarray, "P"]:
        """ln ρ_i at t = ∞ under the square loss, ρ_i = |y_i|/|x_i|."""
        return np.log(np.abs(self.targets)) - np.log(self.size)

    def square(self, ts: Float[np.ndarray, "T"]) -> Float[np.ndarray, "T P"]:
        """ln ρ_i(t) for the square loss, with sums computed from logarithms."""
        grown = 2 * self.rates * ts[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):  # ln 0 at t = 0; ∞ − ∞ at t = ∞ without neurons
            found = -np.logaddexp(-self.log_start - grown, np.log(-np.expm1(-grown)) - self.log_limit)
        return np.where(self.log_start == -np.inf, -np.inf, found)

    def logistic(self, ts: Float[np.ndarray, "T"]) -> Float[np.ndarray, "T P"]:
        """ln ρ_i(t) for the logistic loss."""
        if ts[-1] * self.rates.max() > _LONGEST:
            raise ValueError(f"the logistic loss is solved for |x|t/P up to {_LONGEST:g}; end ts earlier.")
        log_z = np.where(self.log_start == -np.inf, 0.0, self.log_start + np.log(self.size))
        found = _inverse_scaled_time(_scaled_time(log_z) + 2 * self.rates * ts[:, None]) - np.log(self.size)
        return np.where(self.log_start == -np.inf, -np.inf, found)

    def outputs(self, log_rho: Float[np.ndarray, "T P"]) -> Float[np.ndarray, "T P"]:
        """f(x_i) = sgn(y_i)ρ_i|x_i|."""
        return np.sign(self.targets) * np.exp(log_rho) * self.size

    def weights(self, log_rho: Float[np.ndarray, "T P"]) -> Factored:
        """W₁ and W₂ as factors."""
        root = np.exp(log_rho / 2)
        first = (self.neurons[None], root[:, :, None] * self.directions)
        return Factored(first, ((root * np.sign(self.targets))[:, None, :], self.neurons.T[None]))

    def network(self) -> Network:
        """The network of these subnetworks at t = 0."""
        return Network(self.weights(self.log_start[None]).at(0), leak=0.0)


@dataclass(frozen=True, eq=False)
class _Sorting:
    """Per neuron: g, e^{2st*}, the points on which it is active, and the g² of staying on each of them."""

    g: Float[np.ndarray, "H P"]
    delays: Float[np.ndarray, "H"]
    active: Bool[np.ndarray, "H P"]
    stayed: Float[np.ndarray, "H P"]


def _over(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """part/whole, with 0/0 = 0 and x/0 = ∞."""
    part, whole = np.broadcast_arrays(part, whole)
    return np.divide(part, whole, out=np.where(part > 0, np.inf, 0.0), where=whole > 0)


def _sorted(
    reach: Float[np.ndarray, "H P"],
    a: Float[np.ndarray, "H"],
    y: Float[np.ndarray, "P"],
    rates: Float[np.ndarray, "P"],
) -> _Sorting:
    """g of every neuron, in the column of the point to which it is sorted; see `independent_network`."""
    up, down = (_active(np.where(y * sign > 0, reach, 0.0), rates) for sign in (1, -1))
    omega = np.hypot(up[2], down[2])
    chosen = omega * a + up[2] * up[1] - down[2] * down[1]
    point, p, s = np.where(chosen > 0, up, down)
    _, q, r = np.where(chosen > 0, down, up)
    gained = s * np.divide(q, r, out=np.zeros_like(q), where=r > 0)  # by p, while q decreases to 0
    p, outer = p + gained, np.sqrt(np.maximum(a**2 - q**2 + gained * (2 * p + gained), 0))
    on = s > 0
    g = np.zeros_like(reach)
    slowest = omega * outer + s * p
    delay = np.divide(np.abs(chosen), slowest, out=np.zeros_like(a), where=slowest > 0)  # e^{−ωt*}
    share = np.divide(s, omega, out=np.ones_like(s), where=omega > 0)
    g[np.arange(len(a)), point.astype(int)] = np.where(on, (p + outer) / 2 * delay**share, 0.0)
    with np.errstate(divide="ignore", over="ignore"):
        fastest = np.divide(np.maximum(s, r), omega, out=np.ones_like(s), where=omega > 0)
        delays = np.where(omega > 0, delay ** (-2 * fastest), 0.0)
    own = np.divide(rates, omega[:, None], out=np.ones_like(reach), where=omega[:, None] > 0)
    stayed = (a**2 + np.sum(reach**2, axis=1))[:, None] * delay[:, None] ** (2 * np.minimum(own, 1.0))
    return _Sorting(g, delays, reach > 0, stayed)


def _active(
    reach: Float[np.ndarray, "H P"], rates: Float[np.ndarray, "P"]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The point on which each neuron is active, w·x̂ there and its rate; both are 0 if there is none."""
    point = np.argmax(reach, axis=1)
    p = reach[np.arange(len(reach)), point]
    return point, p, np.where(p > 0, rates[point], 0.0)


def _scaled_time(log_z: np.ndarray) -> np.ndarray:
    """ln z + Ei(z) − γ = 2 ln z + ∫₀ᶻ(eᵘ − 1)/u du, γ Euler's constant: grows by 2s_it; given ln z."""
    expi = load("scipy.special").expi

    z = np.exp(log_z)
    small = z < 1e-5  # the next term of the series, z³/18, is below the rounding of 2 ln z
    return np.where(small, 2 * log_z + z + z**2 / 4, log_z + expi(np.where(small, 1.0, z)) - np.euler_gamma)


def _inverse_scaled_time(target: np.ndarray) -> np.ndarray:
    """ln z at which `_scaled_time` is `target`, by Newton's method.

    Below z = 1 it is convex in ln z, so target/2 is above the root and the iterates stay there; beyond, its
    logarithm is nearly linear in z, and z is near ln target.
    """
    near = target < _scaled_time(np.zeros(1))
    log_z = np.where(near, target / 2, np.log1p(np.log(np.where(near, 1.0, target))))
    for _ in range(50):
        value, log_slope = _scaled_time(log_z), np.logaddexp(0, np.exp(log_z))  # the slope by ln z is 1 + e^z
        with np.errstate(invalid="ignore", divide="ignore"):  # the logarithm is used beyond z = 1 only
            ahead = np.where(near, value - target, value * np.log(value / target)) * np.exp(-log_slope)
        log_z = log_z - ahead
        if np.max(np.abs(ahead)) < 1e-15:
            break
    return log_z
