"""Descent at the paper's step against exact flow, at full size.

From an aligned start descent of a (leaky) ReLU network *is* that of its linear twin at step cη, so its whole
path costs next to nothing; the simulator's own steps are taken where it matters, through the transition.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from biasfree import theory
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.trajectory import Trajectory
from biasfree_papers.fig3.finals import start
from biasfree_papers.shared.trajectories import rounding
from biasfree_papers.types import Numbers, Report


def compared(settings: Mapping[str, Any], data: Dataset, rescaled: np.ndarray, report: Report) -> Numbers:
    """Losses on rescaled time: descent by theory for all leaks, the flow, and simulated descent of ReLU."""
    report("descent at one step for all leaks")
    sizes, scale, seed = (settings["dimensions"], settings["width"], 1), settings["scale"], settings["seed"]
    step, leaks = settings["step"], settings["leaks"]
    starts = [
        theory.aligned(start(sizes, scale, seed, leak), data, both_signs_tolerance=1.0) for leak in leaks
    ]
    paths = [_path(network, data, step, settings["end"] / 2) for network in starts]
    slowness = step * np.linalg.norm(data.beta) / 2
    return {
        "descent_loss": np.array([_at(path, rescaled) for path in paths]),
        "flow_loss": _flow(starts[0], data, rescaled),
        "delayed_loss": np.array(
            [_flow(starts[0], data, rescaled * (1 - c * slowness)) for c in map(_c, leaks)]
        ),
        "step": np.array(step),
        **_real(paths[0], data, step, settings["real_steps"], report),
    }


def _c(leak: float) -> float:
    return (1 + leak) / 2


def _path(network: Network, data: Dataset, step: float, end: float) -> Trajectory:
    """Descent to the rescaled time `end`, every step kept: the states are a few numbers each."""
    return theory.equivalent_descent(network, data, step, int(np.ceil(end / (step * _c(network.leak)))))


def _at(path: Trajectory, rescaled: np.ndarray) -> np.ndarray:
    """The loss at rescaled times, between steps on a straight line."""
    return np.interp(rescaled, _c(path.leak) * path.ts, path.loss)


def _flow(relu: Network, data: Dataset, rescaled: np.ndarray) -> np.ndarray:
    return theory.reduced_flow(relu, data, rescaled / _c(relu.leak)).loss


def _real(path: Trajectory, data: Dataset, step: float, steps: int, report: Report) -> Numbers:
    """The simulator's own descent of the ReLU network through its transition, beside the path."""
    from biasfree.dynamics import gradient_descent

    report(f"{steps} real steps of ReLU through the transition")
    middle = int(np.argmin(np.abs(path.loss - (path.loss[0] + path.loss[-1]) / 2)))
    first = max(0, min(middle - steps // 2, len(path) - 1 - steps))
    run = gradient_descent(path[first], data, step=step, steps=steps, save_every=max(1, steps // 10))
    there = first + np.rint(run.ts / step).astype(int)
    return {
        "real_rescaled": _c(path.leak) * path.ts[there],
        "real_loss": run.loss,
        "real_flow": _flow(path[0], data, _c(path.leak) * path.ts[there]),
        "real_error": np.array([_apart(network, path[i]) for network, i in zip(run, there, strict=True)]),
        "real_bound": np.array(rounding(data, path[0].sizes[1], steps)),
    }


def _apart(one: Network, other: Network) -> float:
    pairs = zip(one.weights, other.weights, strict=True)
    return float(np.linalg.norm([np.linalg.norm(a - b) for a, b in pairs]) / np.linalg.norm(other.norms))
