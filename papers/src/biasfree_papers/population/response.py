"""The distance of a sampled flow from that of infinite data, to first order in the errors of the moments.

White inputs, y an odd function of z = β̄·x and noise, two neurons w = ±aβ̄ of opposite sign, ReLU. On
infinite data f = ω(t)z with ω = s/(1 + E), E = Ae^{−2sτ}, A = s/u₀² − 1, τ = t/2. Neurons of one sign see one
half-space, so that each half has its own map v = ωβ̄ + δv. Let δβ and δS be the errors of twice
⟨1[±z > 0]yx⟩ and ⟨1[±z > 0]zx⟩. Linearized, dω/dτ = 2ω(s − ω) and dr/dτ = g − (g·r)r give

δv = (a_β δβ_∥ − a_S δS_∥)β̄ + ω(b_β δβ_⊥ − b_S δS_⊥),
a_β = (2sτE + 1 − e^{−2sτ})/(1 + E)²,  a_S = s(1 − e^{−2sτ})/(1 + E)²,  b_β = (1 − e^{−sτ})/s,
b_S = 1 − e^{−sτ} − √A e^{−sτ}(arctan(e^{sτ}/√A) − arctan(1/√A)).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import biasfree as bf

_NODES = 300  # of the quadrature over z


def transition(network: bf.Network, population: bf.data.Population) -> float:
    """The time at which infinite data leaves its plateau: ω = s/2, where e^{st} = A."""
    s = float(np.linalg.norm(population.beta))
    return float(np.log(_left(network, s)) / s)


def _left(network: bf.Network, s: float) -> float:
    """A = s/u₀² − 1, u₀ the norm of the linear twin."""
    return 2 * s / float(network.norms[0]) ** 2 - 1


@dataclass(frozen=True, eq=False)
class Response:
    """The factors a_β, a_S, b_β, b_S and ω at every time."""

    direction: np.ndarray
    strength: float
    omega: np.ndarray
    along: np.ndarray
    across: np.ndarray

    @classmethod
    def of(cls, network: bf.Network, population: bf.data.Population, ts: np.ndarray) -> Response:
        """The response of a ReLU network of rank one along β, whose layers have equal norms."""
        s = float(np.linalg.norm(population.beta))
        tau, left = ts / 2, _left(network, s)
        e, grown, root = left * np.exp(-2 * s * tau), np.exp(-s * tau), np.sqrt(left)
        reached = 1 - grown**2
        along = np.stack([2 * s * tau * e + reached, s * reached]) / (1 + e) ** 2
        turned = np.arctan(1 / (grown * root)) - np.arctan(1 / root)
        across = np.stack([(1 - grown) / s, 1 - grown - root * grown * turned])
        return cls(population.beta / s, s, s / (1 + e), along, across)

    def distance(self, data: bf.Dataset) -> np.ndarray:
        """√E[(f̂ − f)²] at every time, from the moments of these samples."""
        z = data.x @ self.direction
        squares = [np.sum(self._change(data, 2 * (side * z > 0)) ** 2, axis=1) for side in (1, -1)]
        return np.sqrt(np.mean(squares, axis=0))

    def _change(self, data: bf.Dataset, weights: np.ndarray) -> np.ndarray:
        """δv of one half, (time, D)."""
        z = data.x @ self.direction
        beta = (weights * data.y) @ data.x / len(data) - self.strength * self.direction
        sigma = (weights * z) @ data.x / len(data) - self.direction
        inside = self.along[0] * (beta @ self.direction) - self.along[1] * (sigma @ self.direction)
        beta, sigma = (m - (m @ self.direction) * self.direction for m in (beta, sigma))
        outside = np.outer(self.across[0], beta) - np.outer(self.across[1], sigma)
        return np.outer(inside, self.direction) + self.omega[:, None] * outside

    def mean_square(self, population: bf.data.Population) -> np.ndarray:
        """P·E[(f̂ − f)²] at every time, for the linear and the even part of f̂ − f, (2, T); E over samples too.

        The linear part is driven by errors of ⟨yx⟩ and ⟨zx⟩, the even part by ⟨sgn(z)yx⟩ and ⟨sgn(z)zx⟩,
        whose means are 0.
        """
        z, weights = np.polynomial.hermite_e.hermegauss(_NODES)
        weights = weights / weights.sum()
        y, noise = population.target(np.outer(z, self.direction)), population.noise**2
        square = weights @ y**2 + noise
        yz, zz = self.along
        raw = yz**2 * (weights @ (y * z) ** 2 + noise) - 2 * yz * zz * (weights @ (y * z**3)) + 3 * zz**2
        centered = raw - (yz * self.strength - zz) ** 2
        yx, zx = self.across
        each = self.omega**2 * (yx**2 * square - 2 * yx * zx * self.strength + zx**2)
        rest = (population.dimensions - 1) * each
        return np.stack([centered + rest, raw + rest])
