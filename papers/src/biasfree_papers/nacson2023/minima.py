"""Measurements of a minimum at which descent has converged."""

from __future__ import annotations

import numpy as np

from biasfree.data import Dataset
from biasfree.diagnostics import path_norm
from biasfree.networks import Network, rebalanced
from biasfree.theory.neighbors import kink_distances, output_gradients, sharpness_bound
from biasfree_papers.types import Numbers

MEASURES = ("sharpness", "kernel", "norm", "gain", "kink", "balanced", "imbalance")
#: The measures of a run that came to no minimum.
NONE: Numbers = {name: np.array(np.nan) for name in MEASURES}


#: |w·x|/(|w||x|) below which the side of a neuron is rounding, and how far off it is clear.
_ON, _OFF = 1e-13, 2e-13


def _beside_kinks(network: Network, data: Dataset) -> Network:
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


def measured(network: Network, data: Dataset) -> Numbers:
    """Sharpness, the largest eigenvalue of GGᵀ/P, Σ|a||w| over neurons that are active on some sample, Σ|a|g,
    the distance from the nearest kink, and the sharpness of the balanced twin with the imbalance it lacks."""
    from biasfree.dynamics import sharpness

    w, a = network.weights[0], network.weights[1][0]
    beside = _beside_kinks(network, data)
    g = output_gradients(beside, data)
    lengths, live = np.linalg.norm(w, axis=1), (data.x @ w.T > 0).any(axis=0)
    values = (
        sharpness(beside, data),
        np.linalg.eigvalsh(g @ g.T / len(data))[-1],
        path_norm(network, data),
        sharpness_bound(network, data, fit_tolerance=np.inf) / 2,
        kink_distances(network, data).min(),
        sharpness(rebalanced(network), data),
        np.abs(a**2 - lengths**2)[live].sum() / np.sum(a[live] ** 2 + lengths[live] ** 2),
    )
    return {name: np.asarray(value) for name, value in zip(MEASURES, values, strict=True)}
