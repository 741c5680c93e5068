"""The decision boundary of a trained network: its distance from linear, and its limit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from biasfree import diagnostics, theory
from biasfree.data import Dataset
from biasfree.networks import Network, Span
from biasfree_papers.shared.sign_blocks import final_patterns, stable_ranks
from biasfree_papers.types import Numbers

_POINTS = 1000  # random points in the span


@dataclass(frozen=True, eq=False)
class Boundary:
    """Initial weights in the span of the samples, with test points: random ones there, and held-out samples.

    A held-out sample is mostly off the span: `inside` has its coordinates there and `outside` its
    preactivations by the constant rest of W₁, neurons by samples.
    """

    reduced: Span
    points: np.ndarray
    inside: np.ndarray
    outside: np.ndarray
    labels: np.ndarray
    best: np.ndarray

    @classmethod
    def of(cls, reduced: Span, held_out: Dataset, *, seed: int) -> Boundary:
        """Sample the points, and solve for the linear classifier of largest margin."""
        points = np.random.default_rng([seed, 1]).normal(size=(_POINTS, reduced.data.dimensions))
        best = theory.max_margin(reduced.data).direction
        inside, outside = held_out.x @ reduced.basis, reduced.rest @ held_out.x.T
        return cls(reduced, points, inside, outside, held_out.y, best)

    def measured(self, network: Network, factor: float) -> Numbers:
        """Angles of its linear maps to the largest margin, and signs of f against its linear part."""
        first, outer = network.weights[0], network.weights[1][0]
        data, normal = self.reduced.data, outer @ first
        hidden = first @ self.inside.T + factor * self.outside
        f, linear = outer @ np.maximum(hidden, network.leak * hidden), outer @ hidden
        seen = {
            "angle": angle(normal, self.best),
            "sample_angle": angle(diagnostics.effective_map(network, data.x), self.best),
            "agree": np.mean(np.sign(network(self.points)) == np.sign(self.points @ normal)),
            "agree_held_out": np.mean(np.sign(f) == np.sign(linear)),
            "accuracy": np.mean(np.sign(f) == self.labels),
            "on_side": np.mean(
                theory.activation_patterns(network, data.x)[0] == final_patterns(network, data)[0]
            ),
        }
        return {name: np.asarray(value) for name, value in seen.items()}

    def limit(self) -> Numbers:
        """The max-margin network with the final activation pattern of orthogonal inputs."""
        network, data = self.reduced.network, self.reduced.data
        end = theory.neighbors.gated_max_margin(network, data, patterns=final_patterns(network, data))
        w, outer = end.network.weights[0], network.weights[1][0]
        gram = w @ w.T
        seen = {
            "limit_ranks": stable_ranks(gram, outer),
            "limit_beyond": beyond_two(gram),
            "limit_angle": angle(outer @ w, self.best),
            "limit_on_margin": np.mean(end.on_margin),
            "limit_consistent": end.changed == 0,
            "limit_off_side": end.changed,
            "limit_agree": np.mean(np.sign(end.network(self.points)) == np.sign(self.points @ (outer @ w))),
            "limit_size": np.sum(end.multipliers),  # |W|_F² of margin 1
        }
        return {name: np.asarray(value) for name, value in seen.items()}


def beyond_two(gram: np.ndarray) -> float:
    """The share of |W|_F² that the best matrix of rank two does not capture."""
    return float(np.clip(1 - np.linalg.eigvalsh(gram)[-2:].sum() / np.trace(gram), 0, 1))


def angle(one: np.ndarray, other: np.ndarray) -> float:
    """The angle between two vectors, in degrees."""
    one, other = one / np.linalg.norm(one), other / np.linalg.norm(other)
    return float(2 * np.degrees(np.arctan2(np.linalg.norm(one - other), np.linalg.norm(one + other))))
