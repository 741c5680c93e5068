"""Plots of the loss of a trajectory over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from biasfree import theory as solutions
from biasfree.arguments import public
from biasfree.plots._curves import level, spaced_indices, theory_curve
from biasfree.trajectory import MapTrajectory, Trajectory

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D


@public
def loss(
    axes: Axes,
    trajectory: Trajectory | MapTrajectory,
    *,
    log_time: bool = False,
    log_loss: bool = False,
    shown: int = 25,
    **look: Any,
) -> Line2D:
    """Draw the loss over time: a solution as a line, a simulation as at most `shown` open markers.

    `trajectory.stats.method` decides which of the two it is. An infinite last time, as in closed forms, is
    drawn as a dotted level. Points without a logarithm (t = 0, loss 0) are left out of logarithmic axes. The
    line is labeled; the caller adds the legend.
    """
    t, y = _finite_part(trajectory)
    axes.set(xlabel="time $t/\\tau$", ylabel="loss $L$")
    if log_time:
        axes.set_xscale("log")
    if log_loss:
        axes.set_yscale("log")
    log_time = axes.get_xscale() == "log"
    log_loss = axes.get_yscale() == "log"
    kept = ((t > 0) | (not log_time)) & ((y > 0) | (not log_loss))
    if not kept.any():
        raise ValueError(
            f"no point of {trajectory!r} can be drawn on logarithmic axes; draw it on linear axes."
        )
    t = t[kept]
    y = y[kept]
    if trajectory.stats.method not in solutions.__all__:
        # spaced in the drawn coordinates, so that a drop over decades gets markers too
        chosen = spaced_indices(
            np.log(t) if log_time else t, np.log(y) if log_loss else y, shown=shown, shift=0.0
        )
        look = {"ls": "none", "marker": "o", "mfc": "none", "markevery": chosen.tolist(), **look}
    line = theory_curve(axes, t, y, **{"label": _name(trajectory), **look})
    if trajectory.ts[-1] == np.inf and (trajectory.loss[-1] > 0 or not log_loss):
        level(axes, float(trajectory.loss[-1]), "$t\\to\\infty$", side="right", color=line.get_color())
    return line


@public
def trajectory(axes: Axes, run: Trajectory | MapTrajectory, **look: Any) -> Line2D:
    """Draw the loss of a run over time, on axes that show where it falls.

    Empty axes get a logarithmic loss if it falls below a hundredth of its first value, and a logarithmic time
    if half of the fall is over within a twentieth of the run. Further runs are drawn on the same axes. The
    line is labeled; the caller adds the legend. `loss` leaves the axes to the caller.
    """
    t, y = _finite_part(run)
    if axes.has_data():
        return loss(axes, run, **look)
    half = t[np.argmax(y <= (y[0] + y.min()) / 2)]
    early = bool(np.count_nonzero(t > 0) > 1 and y.min() < y[0] and half < t[-1] / 20)
    return loss(axes, run, log_time=early, log_loss=bool(0 < y.min() < y[0] / 100), **look)


def _finite_part(trajectory: Trajectory | MapTrajectory) -> tuple[np.ndarray, np.ndarray]:
    finite = np.isfinite(trajectory.ts)
    if not finite.any():
        raise ValueError("the trajectory has no finite time, so there is no curve; add finite times.")
    return trajectory.ts[finite], trajectory.loss[finite]


def _name(trajectory: Trajectory | MapTrajectory) -> str:
    method = trajectory.stats.method
    if method in solutions.__all__:
        return method.replace("_", " ")
    return "gradient descent" if method == "descent" else "gradient flow"
