"""Measurements of a minimum: its sharpness, beside kinks, and what becomes of a small perturbation."""

from __future__ import annotations

import numpy as np

from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.theory.neighbors import output_gradients
from biasfree.trajectory import Trajectory
from biasfree_papers.shared.trajectories import weight_gap

#: |w·x|/(|w||x|) below which the side of a neuron is rounding, and how far off it is clear.
_ON, _OFF = 1e-13, 2e-13


def beside_kinks(network: Network, data: Dataset) -> Network:
    """The network with neurons on a kink put clearly on the side they are on, which may depend on
    how w·x is rounded, and the Hessian on it."""
    w = np.array(network.weights[0])
    x = data.x / np.linalg.norm(data.x, axis=1, keepdims=True)
    along, lengths = w @ x.T, np.linalg.norm(w, axis=1)
    nearest = np.argmin(np.abs(along), axis=1)
    least = along[np.arange(len(w)), nearest]
    on = np.abs(least) < _ON * lengths
    side = np.where(least > 0, 1.0, -1.0) * on
    return Network((w + (_OFF * side * lengths)[:, None] * x[nearest], network.weights[1]), leak=network.leak)


def kicks(
    ends: list[Network], data: list[Dataset], *, step: float, kick: float, steps: int
) -> list[tuple[float, float, float, float]]:
    """Every minimum moved by `kick` of its length in a random direction, then descent, seen at every step.

    Returns the distance, the loss after the kick, the largest after it, and the share of the residual that
    the kick puts along the sharpest direction.
    """
    from biasfree.dynamics import gradient_descent

    moved = [_moved(end, kick, i) for i, end in enumerate(ends)]
    runs = gradient_descent(moved, data, step=step, steps=steps, keep_diverged=True)
    return [
        (weight_gap(end, other), run.loss[0], _largest(run), _top(end, other, one))
        for end, other, run, one in zip(ends, moved, runs, data, strict=True)
    ]


def _moved(network: Network, kick: float, seed: int) -> Network:
    """The network with a random vector of length kick·|weights| added."""
    rng = np.random.default_rng(seed)
    added = [rng.normal(size=w.shape) for w in network.weights]
    factor = kick * np.linalg.norm(network.norms) / np.sqrt(sum(np.sum(d**2) for d in added))
    return Network(tuple(w + factor * d for w, d in zip(network.weights, added, strict=True)))


def _largest(run: Trajectory) -> float:
    return np.inf if run.stats.stopped.startswith("diverged") else float(run.loss.max())


def _top(end: Network, moved: Network, data: Dataset) -> float:
    g = output_gradients(end, data)
    residual = moved(data.x) - data.y
    return float(abs(np.linalg.eigh(g @ g.T)[1][:, -1] @ residual) / np.linalg.norm(residual))
