"""Gradients of neurons at the least-squares map, for every set of samples that one can be active on."""

from __future__ import annotations

import numpy as np

from biasfree.data import Dataset


def neuron_slopes(data: Dataset) -> np.ndarray:
    """|⟨(y − w·x)x⟩| over the samples that a neuron is active on, w least squares, for every such set."""
    residual = data.y - data.x @ np.linalg.lstsq(data.x, data.y, rcond=None)[0]
    angles = np.arctan2(data.x[:, 1], data.x[:, 0]) + np.pi / 2
    edges = np.unique(np.round(np.concatenate([angles, angles + np.pi]) % (2 * np.pi), 12))
    middles = (edges + np.append(edges[1:], edges[0] + 2 * np.pi)) / 2
    active = data.x @ np.stack([np.cos(middles), np.sin(middles)]) > 0
    return np.linalg.norm((active * residual[:, None]).T @ data.x / len(data), axis=1)
