"""The distance between the boundary of a network and that of its linear part, on fresh inputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from biasfree import diagnostics, theory
from biasfree.networks import Network
from biasfree_papers.sarussi2021.teacher import Task

_FRESH = 1000  # inputs, before their mirror images are added
_DECIDED = 1e-9  # of |x|Σ|a||w|, whose rounding is far less: a network that is 0 over an area decides nothing


def inputs(one: Task) -> np.ndarray:
    """Gaussian inputs of the task's dimension, the same for all runs of a seed; their law is isotropic."""
    return np.random.default_rng([one.seed, 1]).normal(size=(_FRESH, len(one.teacher)))


@dataclass(frozen=True)
class Boundary:
    """`differ` is the share of inputs at which the network f and its linear part ℓ are of opposite sign.

    `beaten` is the share at which the even part f_e is larger than ℓ, from the weights: f(±x) = ±ℓ + f_e,
    so that there, and only there, signs differ at one of x and −x, and `differ` is half of it.
    """

    differ: float
    beaten: float

    @classmethod
    def of(cls, network: Network, x: np.ndarray) -> Boundary:
        """The boundary of a network, measured at x and −x."""
        linear, least = x @ theory.linear_part(network)[0], _DECIDED * _terms(network, x)
        along = [np.sign(linear) * sign * network(sign * x) for sign in (1.0, -1.0)]
        beaten = np.abs(theory.even_part(network, x)) - np.abs(linear) > least
        return cls(float(np.mean([f < -least for f in along])), float(np.mean(beaten)))


def _terms(network: Network, x: np.ndarray) -> np.ndarray:
    """|x|Σ|a||w|, a bound on the terms of f."""
    first, second = network.weights
    return np.linalg.norm(x, axis=1) * (np.linalg.norm(first, axis=1) @ np.abs(second[0]))


def measured(network: Network, one: Task) -> dict[str, Any]:
    """All measures of a network on fresh inputs, against its teacher and its data."""
    x = inputs(one)
    boundary, w = Boundary.of(network, x), theory.linear_part(network)[0]
    both = np.concatenate([x, -x])
    return {
        "differ": boundary.differ,
        "beaten": boundary.beaten,
        "wrong": float(np.mean(np.sign(network(both)) != np.sign(both @ one.teacher))),
        "nonlinear": float(diagnostics.nonlinear_share(network, both)[0]),
        "teacher_angle": _degrees(w, one.teacher),
        "margin_angle": _degrees(w, theory.max_margin(one.data).w),
        "directions": len(diagnostics.direction_clusters(network).sizes),
        "fitted": float(np.mean(one.data.y * network(one.data.x) > 0)),
    }


def _degrees(one: np.ndarray, other: np.ndarray) -> float:
    one, other = one / np.linalg.norm(one), other / np.linalg.norm(other)
    return float(np.degrees(2 * np.arctan2(np.linalg.norm(one - other), np.linalg.norm(one + other))))
