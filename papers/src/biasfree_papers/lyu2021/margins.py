"""Angles and normalized margins on symmetric separable data, against the largest ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from biasfree import diagnostics, networks, theory
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.trajectory import Trajectory


def along(runs: Sequence[Trajectory], measure: Callable[[Network], Any]) -> np.ndarray:
    """`measure` of runs at common times, (times, runs, …)."""
    return np.stack([run.map(measure) for run in runs], axis=1)


def angles(runs: Sequence[Trajectory], data: Sequence[Dataset]) -> np.ndarray:
    """The angle between the linear part of every network and its max-margin classifier, in degrees."""
    best = np.array([theory.max_margin(one).direction for one in data])
    w = along(runs, lambda net: theory.linear_part(net)[0])
    w = w / np.linalg.norm(w, axis=-1, keepdims=True)
    halves = np.linalg.norm(w - best, axis=-1), np.linalg.norm(w + best, axis=-1)
    return np.degrees(2 * np.arctan2(*halves))


def shares(runs: Sequence[Trajectory], data: Sequence[Dataset]) -> np.ndarray:
    """The normalized margin of every network over the largest one of its data, c/(2|w*|)."""
    return np.stack([_share(run, one) for run, one in zip(runs, data, strict=True)], axis=1)


def _share(run: Trajectory, data: Dataset) -> np.ndarray:
    return run.map(lambda net: normalized(net, data)) / theory.largest_margin(data, leak=run.leak)


def normalized(network: Network, data: Dataset) -> float:
    """min y f/|θ|²."""
    found = diagnostics.margins(network, data).normalized
    assert found is not None  # a network without biases that is not zero
    return float(found.min())


def embedded(w: np.ndarray, *, width: int, leak: float) -> Network:
    """The balanced two-layer network that is the linear function w·x: |W₁|² = |W₂|² = |w|/c."""
    return networks.rank_one(w, width=width, scale=theory.final_norm(w, leak=leak), leak=leak)


def embedded_share(data: Dataset, leak: float, width: int) -> float:
    """The share of the balanced network that is the max-margin classifier."""
    network = embedded(theory.max_margin(data).w, width=width, leak=leak)
    return normalized(network, data) / theory.largest_margin(data, leak=leak)


def one_signed_share(data: Dataset, leak: float, width: int) -> float:
    """The share of a network with one sign, f = Σ|a||w|·σ(r·x), with the boundary of the classifier."""
    best = theory.max_margin(data)
    outer = np.abs(embedded(best.w, width=width, leak=leak).weights[1])
    network = Network((outer.T * best.direction, outer), leak=leak)
    return normalized(network, data) / theory.largest_margin(data, leak=leak)
