"""The early phase on orthogonal inputs: neurons deactivate on samples of the other sign, then grow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from biasfree.arrays import Bool, Float, row_norms, unit_rows
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.theory.parts import on_hyperplanes


@dataclass(frozen=True, eq=False)
class Growth:
    """The asymptotic growth γ_h e^{|D_S|t} of neuron h, S the samples of its sign on which it is active.

    `active` is S, `rates` are |D_S|, `forces` s_i = |y_i||x_i|/P on S; `log_gamma` is ln γ_h, −∞ for a neuron
    that does not grow.
    """

    active: Bool[np.ndarray, "H P"]
    forces: Float[np.ndarray, "H P"]
    rates: Float[np.ndarray, "H"]
    log_gamma: Float[np.ndarray, "H"]
    lengths: Float[np.ndarray, "P"]

    def shares(self, some: Bool[np.ndarray, "H"], ts: Float[np.ndarray, "H"]) -> Float[np.ndarray, "P"]:
        """f(x_i)/y_i of the neurons `some`, each at its own time: Σ_h γ_h²e^{2|D_S|t}|x_i|²/(P|D_S|)."""
        counts = some & (self.log_gamma > -np.inf)
        rates, active = self.rates[counts], self.active[counts]
        with np.errstate(divide="ignore", over="ignore"):
            log = 2 * (self.log_gamma[counts] + rates * ts[counts]) - np.log(rates * len(self.lengths))
            each = np.exp(log[:, None] + 2 * np.log(self.lengths))
        return np.sum(np.where(active, each, 0.0), axis=0)


def grown(network: Network, data: Dataset) -> Growth:
    """The early phase of two layers with |a_h| ≥ |w_h|, exact as the weights → 0.

    With z_i = w·x̂_i and signed forces s_i, positive for samples of the sign of a: ż_i = s_i|a| on active
    samples, d|a|/dt = c = Σ s_i z_i. With I = ∫|a|dt, c grows by κ²I and |a|² by 2cI + κ²I², κ² = Σs_i². The
    neuron deactivates on sample i of the other sign at I = z_i/|s_i|, where z_i = 0 leaves c unchanged. The
    time between two such events is ln[(κ|a| + c)/(κ|a| + c)₀]/κ. After the last, γ = ½(|a| + c/κ)e^{−κt}.
    """
    y, lengths = data.targets[:, 0], row_norms(data.x)
    largest = max(np.abs(w).max() for w in network.weights) or 1.0
    along = network.weights[0] / largest @ unit_rows(data.x).T
    reach = np.where(on_hyperplanes(network, data), 0.0, along)
    a, side = np.abs(network.weights[1][0]) / largest, np.sign(network.weights[1][0])
    signed = y * lengths / len(y)
    strongest = np.abs(signed).max() or 1.0  # the unit of rate, so that squares do not overflow
    forces = np.outer(side, signed / strongest) * (reach > 0)
    active = forces > 0
    c, square = np.sum(forces * np.maximum(reach, 0), axis=1), np.sum(forces**2, axis=1)
    a, c, time = _without_other_signs(a, c, square, forces, reach)
    own = np.where(active, forces, 0.0)
    rates = row_norms(own)
    with np.errstate(divide="ignore"):
        size = np.log(np.maximum(a + np.divide(c, rates, out=np.zeros_like(c), where=rates > 0), 0) / 2)
        log_gamma = np.where(rates > 0, size + np.log(largest) - rates * time, -np.inf)
    return Growth(active, own * strongest, rates * strongest, log_gamma, lengths)


def _without_other_signs(
    a: np.ndarray, c: np.ndarray, square: np.ndarray, forces: np.ndarray, reach: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """|a|, c and the time after the last deactivation on such a sample; |a| = 0 where it never comes."""
    against = forces < 0
    marks = np.where(against, np.divide(reach, -forces, out=np.zeros_like(reach), where=against), np.inf)
    order, rows, now, time = np.argsort(marks, axis=1), np.arange(len(a)), np.zeros(len(a)), np.zeros(len(a))
    for k in range(int(against.sum(axis=1).max(initial=0))):
        at = order[:, k]
        mark, kappa = marks[rows, at], np.sqrt(np.maximum(square, 0))
        on = np.isfinite(mark) & (a > 0)
        step = np.where(on, mark - now, 0.0)
        later, slope = np.sqrt(np.maximum(a**2 + step * (2 * c + square * step), 0)), c + square * step
        with np.errstate(divide="ignore", invalid="ignore"):
            took = np.log((kappa * later + slope) / (kappa * a + c)) / kappa
        alive = np.isfinite(took) & (later > 0)
        a, c = np.where(on, np.where(alive, later, 0.0), a), np.where(on, np.where(alive, slope, 0.0), c)
        time, now = time + np.where(on & alive, took, 0.0), np.where(on, mark, now)
        square = np.where(on, square - forces[rows, at] ** 2, square)
    return a, c, time
