"""Descent at the paper's step against exact flow, at full size.

From an aligned initialization descent of a (leaky) ReLU network *is* that of its linear twin at step cη, so
its whole path costs next to nothing; the simulator's own steps are taken through the transition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import xarray

from biasfree import theory
from biasfree.data import Dataset
from biasfree.trajectory import Trajectory
from biasfree_papers.fig3.finals import start
from biasfree_papers.shared.linear_twins import rounding, update_rate
from biasfree_papers.shared.trajectories import weight_gap
from biasfree_papers.types import Report

if TYPE_CHECKING:
    from biasfree_papers.fig3.compute import Settings


def compared(settings: Settings, data: Dataset, rescaled: np.ndarray, report: Report) -> xarray.Dataset:
    """Losses on rescaled time: descent by theory for all leaks, the flow, and simulated descent of ReLU."""
    report("descent at one step for all leaks")
    step, cs = settings.step, [(1 + leak) / 2 for leak in settings.leaks]
    weights = (start(settings.sizes, settings.scale, settings.seed, leak) for leak in settings.leaks)
    starts = [theory.aligned(one, data, both_signs_tolerance=1.0) for one in weights]
    paths = [
        theory.equivalent_descent(one, data, step, int(np.ceil(settings.end / 2 / (step * c))))
        for one, c in zip(starts, cs, strict=True)
    ]
    rate = update_rate(data, step)
    slowness = step * np.linalg.norm(data.beta) / 2

    def flow(times: np.ndarray) -> np.ndarray:
        return theory.reduced_flow(starts[0], data, times / cs[0]).loss

    losses = [np.interp(rescaled, c * path.ts, path.loss) for path, c in zip(paths, cs, strict=True)]
    return xarray.Dataset(
        {
            "descent_loss": (("leak", "time"), losses),
            "flow_loss": ("time", flow(rescaled)),
            "delayed_loss": (("leak", "time"), [flow(rescaled * (1 - c * slowness)) for c in cs]),
            "real_error": ("real", _real(paths[0], data, step, settings.real_steps, report)),
            "real_bound": rounding(data, settings.width, settings.real_steps, rate=rate),
        },
        {"leak": list(settings.leaks)},
    )


def _real(path: Trajectory, data: Dataset, step: float, steps: int, report: Report) -> list[float]:
    """The distance of the simulator's own descent of ReLU, through its transition, from the path."""
    from biasfree.dynamics import gradient_descent

    report(f"{steps} real steps of ReLU through the transition")
    middle = int(np.argmin(np.abs(path.loss - (path.loss[0] + path.loss[-1]) / 2)))
    first = max(0, min(middle - steps // 2, len(path) - 1 - steps))
    run = gradient_descent(path[first], data, step=step, steps=steps, save_every=max(1, steps // 10))
    there = first + np.rint(run.ts / step).astype(int)
    pairs = ((network, path[i]) for network, i in zip(run, there, strict=True))
    return [weight_gap(one, other) / float(np.linalg.norm(other.norms)) for one, other in pairs]
