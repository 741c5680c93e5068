"""Quantities of trajectories for Figs. 4 and 8: learning times, steps of the loss; XOR as a gated network."""

from __future__ import annotations

import numpy as np
import xarray

from biasfree import diagnostics, theory
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.trajectory import Trajectory
from biasfree_papers.shared.trajectories import weight_gap

#: A point counts as learned where y·f(x) is this.
LEARNED = 0.5
#: A neuron is active on a point if their cosine is above this; neurons that slide are at right angles.
_ACTIVE = 1e-3


def margins(run: Trajectory, data: Dataset) -> np.ndarray:
    """y·f at every time and point."""
    return run.map(lambda network: network(data.x) * data.y)


def learned(ts: xarray.DataArray, outputs: xarray.DataArray) -> xarray.DataArray:
    """The times at which outputs y·f reach LEARNED."""
    core = [["time"], ["time"]]
    return xarray.apply_ufunc(reached, ts, outputs, input_core_dims=core, vectorize=True)


def reached(ts: np.ndarray, z: np.ndarray) -> float:
    """The time at which z reaches LEARNED, interpolated linearly in ln z; infinity if it never does."""
    if z[-1] < LEARNED:
        return np.inf
    i = max(int(np.argmax(z >= LEARNED)), 1)
    low, high = np.log(np.maximum(z[i - 1 : i + 1], 1e-300))
    return float(ts[i - 1] + (ts[i] - ts[i - 1]) * (np.log(LEARNED) - low) / (high - low))


def count_falls(ts: np.ndarray, loss: np.ndarray) -> int:
    """The number of drops of a loss: maxima of −dL/dt, separated by at most half of their height.

    Speeds below 1 % of the largest count as 0.
    """
    from scipy.signal import find_peaks

    speed = -np.gradient(loss, ts)
    least = max(0.01 * speed.max(), 1e-6 * loss[0] / np.ptp(ts))  # a loss that stays has none but rounding
    logarithm = np.log(np.concatenate([[least], np.maximum(speed, least), [least]]))
    return len(find_peaks(logarithm, prominence=np.log(2))[0])


def finished_plateaus(flow: Trajectory) -> int:
    """The number of plateaus before the last one."""
    return sum(plateau.finished for plateau in diagnostics.plateaus(flow))


def snapshot_times(ts: np.ndarray, learned: np.ndarray) -> list[int]:
    """Indices of t = 0, half the first learning time, the mean of the last two, and the end."""
    finite = np.sort(learned[np.isfinite(learned)])
    return [int(np.argmin(np.abs(ts - t))) for t in (0, finite[0] / 2, np.mean(finite[-2:]), ts[-1])]


def relative_gap(one: Network, other: Network) -> float:
    """|W − W'|/|W| over both layers."""
    return float(weight_gap(one, other) / np.linalg.norm(one.norms))


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
