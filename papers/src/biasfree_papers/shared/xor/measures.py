"""Quantities of trajectories for Figs. 4 and 8: outputs, learning times, steps of the loss."""

from __future__ import annotations

import numpy as np
import xarray

from biasfree import diagnostics
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.trajectory import Trajectory
from biasfree_papers.shared.trajectories import weight_gap

#: A point counts as learned where y·f(x) is this.
LEARNED = 0.5


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
