"""Quantities of trajectories for Figs. 4 and 8: outputs, learning times, steps of the loss."""

from __future__ import annotations

import numpy as np

from biasfree import diagnostics
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.trajectory import Trajectory
from biasfree_papers.shared.trajectories import accuracy, weight_gap
from biasfree_papers.types import Numbers

#: A point counts as learned where y·f(x) is this.
LEARNED = 0.5


def courses(name: str, runs: list[Trajectory], data: Dataset) -> Numbers:
    """Loss, y·f at every point and the times at which it is learned; one row per run."""
    outputs = np.array([margins(run, data) for run in runs])
    learned = [[reached(run.ts, z) for z in found.T] for run, found in zip(runs, outputs, strict=True)]
    return {
        f"{name}_outputs": outputs,
        f"{name}_loss": np.array([run.loss for run in runs]),
        f"{name}_times": np.array(learned),
    }


def along(flows: list[Trajectory]) -> Numbers:
    """Per run: steps of the loss, plateaus, drift of conserved quantities, and the estimated error."""
    return {
        "falls": np.array([count_falls(flow.ts, flow.loss) for flow in flows]),
        "plateaus": np.array([sum(p.finished for p in diagnostics.plateaus(flow)) for flow in flows]),
        "drift": np.array([diagnostics.conserved_drift(flow).max() for flow in flows]),
        "error": np.array([accuracy(flow) for flow in flows]),
    }


def count_falls(ts: np.ndarray, loss: np.ndarray) -> int:
    """The number of drops of a loss: maxima of −dL/dt, separated by at most half of their height.

    Speeds below 1 % of the largest count as 0.
    """
    from scipy.signal import find_peaks

    speed = -np.gradient(loss, ts)
    least = max(0.01 * speed.max(), 1e-6 * loss[0] / np.ptp(ts))  # a loss that stays has none but rounding
    logarithm = np.log(np.concatenate([[least], np.maximum(speed, least), [least]]))
    return len(find_peaks(logarithm, prominence=np.log(2))[0])


def snapshot_times(ts: np.ndarray, solved: Trajectory, data: Dataset) -> list[int]:
    """Indices of t = 0, half the first learning time, the mean of the last two, and the end."""
    learned = sorted(reached(ts, z) for z in margins(solved, data).T)
    finite = [t for t in learned if np.isfinite(t)]
    between = np.mean(finite[-2:])
    return [int(np.argmin(np.abs(ts - t))) for t in (0, finite[0] / 2, between, ts[-1])]


def margins(run: Trajectory, data: Dataset) -> np.ndarray:
    """y·f at every time and point."""
    return run.map(lambda network: network(data.x) * data.y)


def reached(ts: np.ndarray, z: np.ndarray) -> float:
    """The time at which z reaches LEARNED, interpolated linearly in ln z; infinity if it never does."""
    if z[-1] < LEARNED:
        return np.inf
    i = max(int(np.argmax(z >= LEARNED)), 1)
    low, high = np.log(np.maximum(z[i - 1 : i + 1], 1e-300))
    return float(ts[i - 1] + (ts[i] - ts[i - 1]) * (np.log(LEARNED) - low) / (high - low))


def relative_gap(one: Network, other: Network) -> float:
    """|W − W'|/|W| over both layers."""
    return float(weight_gap(one, other) / np.linalg.norm(one.norms))


def lengths(data: Dataset) -> np.ndarray:
    """|x_i|."""
    return np.linalg.norm(data.x, axis=1)
