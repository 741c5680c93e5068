"""XOR as a gated linear network, with the final activation patterns fixed at t = 0 or later."""

from __future__ import annotations

import numpy as np
import xarray

from biasfree import theory
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.trajectory import Trajectory
from biasfree_papers.shared.xor.measures import margins, reached

#: A neuron is active on a point if their cosine is above this; neurons that slide are at right angles.
_ACTIVE = 1e-3


def gated(flows: list[Trajectory], data: Dataset) -> xarray.Dataset:
    """Losses of gated networks from t = 0, and distances of outputs from the flow if they begin later.

    The later ones begin at half the time at which the flow has learned its first point, when neurons are
    already sorted.
    """
    loss, later, error = zip(*(_beside(flow, data) for flow in flows), strict=True)
    return xarray.Dataset(
        {
            "gated_loss": (("seed", "time"), np.array(loss)),
            "gated_later": ("seed", np.array(later)),
            "gated_error": ("seed", np.array(error)),
        }
    )


def _beside(flow: Trajectory, data: Dataset) -> tuple[np.ndarray, float, float]:
    outputs, pattern = margins(flow, data), _pattern(flow[-1], data)
    half = int(np.searchsorted(flow.ts, min(reached(flow.ts, z) for z in outputs.T) / 2))
    half = min(half, len(flow.ts) - 2)  # nothing is learned: the last step
    whole, later = (
        theory.gated_flow(flow[first], data, flow.ts[first:] - flow.ts[first], patterns=(pattern,))
        for first in (0, half)
    )
    gap = float(np.abs(_outputs(later, data, pattern) - outputs[half:]).max())
    # a step, of several evaluations, is held to a tenth of rtol, relative; outputs are of two layers
    return whole.loss, gap, 2 * (later.stats.rtol or np.inf) / 10 * later.stats.evaluations


def _pattern(network: Network, data: Dataset) -> np.ndarray:
    first = network.weights[0]
    sizes = np.outer(np.linalg.norm(data.x, axis=1), np.linalg.norm(first, axis=1))
    return data.x @ first.T > _ACTIVE * sizes


def _outputs(run: Trajectory, data: Dataset, pattern: np.ndarray) -> np.ndarray:
    """y·f of the gated network, at every time and point."""
    return run.map(
        lambda network: (pattern * (data.x @ network.weights[0].T)) @ network.weights[1][0] * data.y
    )
