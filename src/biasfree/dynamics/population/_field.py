"""The loss and the velocity of a two-layer network on infinite data, exact to rounding.

σ(z) = cz + k|z|, so odd and even parts never mix:
L = ½|Δ|² + ½E[f_e − y_e]² + const., Δ = L_Σᵀ(w* − c·W₁ᵀa), where f_e and y_e are sums of absolute values.

The loss has a kink at w = 0, where the direction of a neuron is undefined. Near it a neuron turns to a
direction ŵ in which φ(ŵ) = a·E[(y − f)σ(ŵ·x)] is largest, and its length changes at the rate φ(ŵ). So it
reaches w = 0 in finite time if φ < 0, rests there while φ ≤ 0 in all directions, and leaves where φ > 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from biasfree.arrays import Bool, Float, non_negative
from biasfree.data import AbsoluteProducts, Polar, Population
from biasfree.dynamics._problem import Params, paired, same_shapes, trained_layers
from biasfree.dynamics._recorder import Recorder
from biasfree.losses import loss_named
from biasfree.networks import Network
from biasfree.trajectory import Factored, Stats, Trajectory

_REMEDY = "train on samples, population.sample(n, seed)"
_ASCENTS = 8  # from every direction that is tried where a neuron might leave w = 0
_ROUNDING = 1e-12  # of the largest rate: a smaller one is zero


def fields_of(
    network: Network | Sequence[Network], data: Any, *, loss: str, l2: float, train: Sequence[bool] | None
) -> list[PopulationField]:
    """The field of every network, or a ValueError that names the wrong argument and the remedy."""
    networks, populations = paired(network, data, Population)
    same_shapes("populations", [p.dimensions for p in populations])
    _check_covered(networks[0], populations[0], loss_named(loss).name)
    l2, trained = non_negative("l2", l2), trained_layers(train, networks[0].depth)
    pairs = zip(networks, populations, strict=True)
    return [PopulationField(one, population, l2=l2, train=trained) for one, population in pairs]


def _check_covered(network: Network, population: Population, loss: str) -> None:
    """Refuse what exact means do not cover."""
    if network.sizes[0] != population.dimensions:
        raise ValueError(
            f"the network takes {network.sizes[0]} inputs but the population has {population.dimensions} "
            f"dimensions; the first layer should have shape ({network.sizes[1]}, {population.dimensions})."
        )
    if loss != "square":
        raise ValueError(f'infinite data needs loss="square", got {loss!r}; for other losses {_REMEDY}.')
    if network.biases is not None:
        raise ValueError(f"infinite data needs a network without biases, got {network!r}; or {_REMEDY}.")
    if network.depth != 2:
        raise ValueError(f"infinite data needs a network of two layers, got {network!r}; or {_REMEDY}.")
    if network.sizes[-1] != 1:
        raise ValueError(f"infinite data needs a network of one output, got {network!r}; or {_REMEDY}.")


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
        self.train, self.l2 = train, l2
        self._trained = np.repeat(np.array(train, float), (self.width * self.columns, self.width))
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
        velocity = np.concatenate([inner.ravel(), outer]) - self.l2 * theta
        return Slope(self._trained * velocity, float(loss))

    def whitened(self, rows: Float[np.ndarray, "*N R"]) -> Float[np.ndarray, "*N R"]:
        """Rows of the first layer for white inputs."""
        return self.population.whitened(rows)  # for Σ = νI a multiple, whatever the coordinates

    def unwhitened(self, slopes: Float[np.ndarray, "*N R"]) -> Float[np.ndarray, "*N R"]:
        """Slopes for white inputs as slopes of the first layer: L_Σ times each."""
        if self.population.variance is None:
            return slopes @ self.population.root.T
        return np.sqrt(self.population.variance) * slopes

    def layers(self, theta: Float[np.ndarray, "*T N"]) -> tuple[np.ndarray, np.ndarray]:
        """The first layer, in the coordinates of the span, and the second, of one state or of many."""
        size, lead = self.width * self.columns, theta.shape[:-1]
        return theta[..., :size].reshape(*lead, self.width, self.columns), theta[..., size:]

    def sizes(self, theta: Float[np.ndarray, "N"]) -> Float[np.ndarray, "2"]:
        """|W₁| and |W₂|, or of an error their parts."""
        return np.array([np.linalg.norm(part) for part in self.layers(theta)])

    def params(self, theta: Float[np.ndarray, "N"]) -> Params:
        """The weights of the two layers."""
        first, second = self.layers(theta)
        return Params((first, second[None]))

    def recorder(self, levels: Sequence[float], save: Callable[[Network], Any] | None) -> Recorder:
        """A recorder of states in coordinates of the span; `save` gets networks of the original inputs."""
        measure = None if save is None else lambda network: save(self._restored(network))
        initial = Network(self.params(self.initial).weights, leak=self.network.leak)
        return Recorder(initial, self.l2, measure, levels)

    def trajectory(self, recorder: Recorder, stats: Stats) -> Trajectory:
        """The recorded trajectory for the original inputs; its first layer is kept as a product."""
        run = recorder.trajectory(stats)
        if self.basis is None:
            return run
        if run.last is not None:
            return replace(run, last=self._restored(run.last))
        first, second = run.weights
        return replace(run, weights=Factored((first, self.basis.T[None]), (second,)))

    def _restored(self, network: Network) -> Network:
        """A network of the span for the original inputs."""
        if self.basis is None:
            return network
        return Network((network.weights[0] @ self.basis.T, network.weights[1]), leak=network.leak)

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


def shrinking(
    field: PopulationField, theta: Float[np.ndarray, "N"], velocity: Float[np.ndarray, "N"], size: float
) -> Bool[np.ndarray, "H"]:
    """Neurons with |w| ≤ size that shrink; none of a linear network, which has no kink."""
    first, second = field.layers(theta)
    if field.k == 0 or not field.train[0]:
        return np.zeros(len(first), bool)
    small = (np.linalg.norm(first, axis=1) <= size) & (second != 0)
    return small & (np.sum(first * field.layers(velocity)[0], axis=1) <= 0) & ~field.resting


def departures(field: PopulationField, theta: Float[np.ndarray, "N"]) -> Float[np.ndarray, "H R"] | None:
    """The velocities of resting neurons that can grow, zero for all others; None if there are none.

    The largest φ found by ascents from the directions of all neurons, of the teacher, and of w* − c·W₁ᵀa.
    """
    if not field.resting.any():
        return None
    second = field.layers(theta)[1]
    found = np.zeros((field.width, field.columns))
    for sign in (1.0, -1.0):
        waiting = field.resting & (sign * second > 0)
        if waiting.any() and (slope := _steepest(field, theta, sign)) is not None:
            found[waiting] = np.abs(second[waiting])[:, None] * slope
    return found if found.any() else None


def _steepest(
    field: PopulationField, theta: Float[np.ndarray, "N"], sign: float
) -> Float[np.ndarray, "R"] | None:
    """The slope of ±E[(y − f)σ(w·x)] in the direction in which it is largest; None if it is not positive."""
    first, second = field.layers(theta)
    white = field.whitened(first)
    gap = field.best - field.c * (second @ white)
    sources = Polar.of(white).with_rows(field.teacher)
    factors = np.append(field.k * second, field.factors)
    first_tried = np.concatenate([sources.units, gap[None]])
    tried = Polar.of(np.concatenate([first_tried, -first_tried]))
    scale = 0.0
    for _ in range(_ASCENTS + 1):
        even = AbsoluteProducts.of(tried, sources).gradients(factors)
        slopes = sign * (field.c * gap - field.k * even)
        rates = np.sum(slopes * tried.units, axis=1)
        scale = max(scale, float(np.abs(rates).max()))
        best = int(np.argmax(rates))
        if rates[best] > _ROUNDING * scale:
            return field.unwhitened(slopes[best])
        tried = Polar.of(tried.units + Polar.of(slopes).units)  # half-way to the steepest direction
    return None
