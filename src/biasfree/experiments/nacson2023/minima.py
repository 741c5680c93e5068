"""What is measured of a minimum that descent has come to."""

from __future__ import annotations

import numpy as np

from biasfree.data import Dataset
from biasfree.diagnostics import path_norm
from biasfree.experiments.experiment import Numbers
from biasfree.networks import Network, rebalanced
from biasfree.theory import sharpness_bound
from biasfree.theory.stable_minima import kink_distances, output_gradients

MEASURES = ("sharpness", "kernel", "norm", "gain", "kink", "balanced", "imbalance")
#: The measures of a run that came to no minimum.
NONE: Numbers = {name: np.array(np.nan) for name in MEASURES}


def measured(network: Network, data: Dataset) -> Numbers:
    """Sharpness, the largest eigenvalue of GGᵀ/P, Σ|a||w| over neurons that are active on some sample, Σ|a|g,
    the distance from the nearest kink, and the sharpness of the balanced twin with the imbalance it lacks."""
    from biasfree.dynamics import sharpness

    w, a = network.weights[0], network.weights[1][0]
    g = output_gradients(network, data)
    lengths, live = np.linalg.norm(w, axis=1), (data.x @ w.T > 0).any(axis=0)
    values = (
        sharpness(network, data),
        np.linalg.eigvalsh(g @ g.T / len(data))[-1],
        path_norm(network, data),
        sharpness_bound(network, data, fit_tolerance=np.inf) / 2,
        kink_distances(network, data).min(),
        sharpness(rebalanced(network), data),
        np.abs(a**2 - lengths**2)[live].sum() / np.sum(a[live] ** 2 + lengths[live] ** 2),
    )
    return {name: np.asarray(value) for name, value in zip(MEASURES, values, strict=True)}
