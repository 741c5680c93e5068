"""The loss and the velocity of a two-layer network on infinite data, exact to rounding.

σ(z) = cz + k|z|, so odd and even parts never mix:
L = ½|Δ|² + ½E[f_e − y_e]² + const., Δ = L_Σᵀ(w* − c·W₁ᵀa), where f_e and y_e are sums of absolute values.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from biasfree.arrays import Float
from biasfree.data import AbsoluteProducts, Polar, Population
from biasfree.networks import Network
from biasfree.trajectory import Factored, Trajectory


class Slope(NamedTuple):
    """The velocity −∇(loss + penalty) of all weights as one vector, and the data loss."""

    velocity: Float[np.ndarray, "N"]
    loss: float


class PopulationField:
    """The field of one network. For Σ = νI it is written in the span of student, teacher and w*."""

    def __init__(self, network: Network, population: Population, *, l2: float, train: tuple[bool, ...]):
        self.network, self.population = network, population
        self.c, self.k = (1 + network.leak) / 2, (1 - network.leak) / 2
        rows, factors = population.even_part
        self.basis = _span(network, population) if population.variance is not None else None
        self.best = self.whitened(self._inside(population.best_map))
        self.teacher = Polar.of(self.whitened(self._inside(rows)))
        self.factors = -factors
        self.constant = population.odd_rest / 2
        self.even_constant = population.even_mean_square / 2
        self.initial = np.concatenate([self._inside(network.weights[0]).ravel(), network.weights[1][0]])
        self.width, self.columns = network.sizes[1], len(self.best)
        self.train = train
        self._train = np.repeat(np.array(train, float), (self.width * self.columns, self.width))
        self._l2 = l2
        self.evaluations = 0
        #: Neurons that rest at w = 0.
        self.resting = np.zeros(self.width, bool)

    def __call__(self, theta: Float[np.ndarray, "N"]) -> Slope:
        """The velocity and the loss at the weights `theta`."""
        self.evaluations += 1
        first, second = self.layers(theta)
        white = self.whitened(first)
        gap = self.best - self.c * (second @ white)
        loss = self.constant + gap @ gap / 2
        p = Polar.of(white)
        # σ′(0) = α on all inputs of a neuron w = 0, where |w·x| has no derivative
        slopes = np.where(p.sizes > 0, self.c, self.network.leak)
        inner, outer = np.multiply.outer(slopes, gap), self.c * (white @ gap)
        if self.k == 0:
            loss += self.even_constant
        else:
            products = AbsoluteProducts.of(p, p.with_rows(self.teacher))
            own = self.k * second
            factors = np.append(own, self.factors)
            across = products.values[:, self.width :] @ self.factors
            even = products.values[:, : self.width] @ own + across
            loss += max(float(own @ (even + across)) / 2 + self.even_constant, 0.0)
            inner -= self.k * products.gradients(factors)
            outer -= self.k * even
        inner *= np.where(self.resting, 0.0, second)[:, None]
        inner = self.unwhitened(inner)
        velocity = np.concatenate([inner.ravel(), outer]) - self._l2 * theta
        return Slope(self._train * velocity, float(loss))

    def whitened(self, rows: Float[np.ndarray, "*N R"]) -> Float[np.ndarray, "*N R"]:
        """Rows of the first layer for white inputs."""
        return rows @ self.population.root if self.population.variance is None else self._root * rows

    def unwhitened(self, slopes: Float[np.ndarray, "*N R"]) -> Float[np.ndarray, "*N R"]:
        """Slopes for white inputs as slopes of the first layer: L_Σ times each."""
        return slopes @ self.population.root.T if self.population.variance is None else self._root * slopes

    def layers(self, theta: Float[np.ndarray, "*T N"]) -> tuple[np.ndarray, np.ndarray]:
        """The first layer, in the coordinates of the span, and the second, of one state or of many."""
        size, lead = self.width * self.columns, theta.shape[:-1]
        return theta[..., :size].reshape(*lead, self.width, self.columns), theta[..., size:]

    def sizes(self, theta: Float[np.ndarray, "N"]) -> Float[np.ndarray, "2"]:
        """|W₁| and |W₂|, or of an error their parts."""
        return np.array([np.linalg.norm(part) for part in self.layers(theta)])

    def inside(self) -> Network:
        """The initial network in the coordinates of the span."""
        first, second = self.layers(self.initial)
        return Network((first, second[None]), leak=self.network.leak)

    def restored(self, network: Network) -> Network:
        """A network of the span for the original inputs."""
        if self.basis is None:
            return network
        return Network((network.weights[0] @ self.basis.T, network.weights[1]), leak=network.leak)

    def restored_trajectory(self, run: Trajectory) -> Trajectory:
        """A trajectory of the span for the original inputs; its first layer is kept as a product."""
        if self.basis is None:
            return run
        if not run.weights:
            return replace(run, last=None if run.last is None else self.restored(run.last))
        first, second = run.weights
        return replace(run, weights=Factored((first, self.basis.T[None]), (second,)))

    @property
    def _root(self) -> float:
        assert self.population.variance is not None
        return float(np.sqrt(self.population.variance))

    def _inside(self, rows: Float[np.ndarray, "*N D"]) -> Float[np.ndarray, "*N R"]:
        return rows if self.basis is None else rows @ self.basis


def _span(network: Network, population: Population) -> Float[np.ndarray, "D R"] | None:
    """An orthonormal basis of the rows of student, teacher and w*; None where it would not save anything."""
    rows = [network.weights[0], population.even_part[0], population.best_map[None]]
    if sum(map(len, rows)) >= population.dimensions:
        return None
    q, r = np.linalg.qr(np.concatenate([Polar.of(part).units for part in rows]).T)
    left, singular, _ = np.linalg.svd(r)
    kept = singular > singular[0] * len(r) * np.finfo(float).eps
    return q @ left[:, kept] if kept.any() else q[:, :1]  # all vectors are zero: any direction serves
