"""Pairs of neuron and sample with w_h·x_i = 0 to rounding."""

from __future__ import annotations

import numpy as np

from biasfree.arrays import Bool, Float, unit_rows
from biasfree.data import Dataset
from biasfree.networks import Network

_ROUNDING = 1e-12  # of |w_h||x_i|: below it the sign of w_h·x_i is rounding


def on_hyperplanes(network: Network, data: Dataset) -> Bool[np.ndarray, "H P"]:
    """Pairs with w_h·x_i = 0 to rounding and a_h ≠ 0; a sample x_i = 0 has no hyperplane."""
    read = np.any(network.weights[1] != 0, axis=0)
    return orthogonal_pairs(network.weights[0], data.x) & read[:, None]


def share_on_hyperplane(r: Float[np.ndarray, "D"], data: Dataset) -> float:
    """The share of samples with r·x = 0 to rounding; a later crossing is harmless.

    On symmetric data the velocity is the same on both sides of the hyperplane.
    """
    return float(np.mean(orthogonal_pairs(r[None], data.x)))


def orthogonal_pairs(
    rows: Float[np.ndarray, "H D"], inputs: Float[np.ndarray, "P D"]
) -> Bool[np.ndarray, "H P"]:
    """Pairs with w_h·x_i = 0 to rounding and x_i ≠ 0."""
    return (np.abs(unit_rows(rows) @ unit_rows(inputs).T) <= _ROUNDING) & inputs.any(axis=1)
