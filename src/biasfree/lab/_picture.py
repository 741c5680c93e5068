"""Pictures of a run at some times: the plane with its neurons, the function, and the loss."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from biasfree.data import Dataset
from biasfree.lab._replay import upper
from biasfree.plots import NEGATIVE, POSITIVE, output_map, style
from biasfree.trajectory import Trajectory

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from PIL.Image import Image

_INCHES = (9.6, 3.2)
_DOTS = 110
_TONES = 64


def pictures(run: Trajectory, data: Dataset, places: Sequence[int]) -> list[Image]:
    """The pictures of a run at these saved times, in few colors."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from PIL import Image

    found = []
    with style():
        figure = Figure(figsize=_INCHES, dpi=_DOTS, layout="constrained")
        canvas = FigureCanvasAgg(figure)
        plane, function, loss = panels = figure.subplots(1, 3, width_ratios=(1, 1, 1.4))
        for i in places:
            for axes in panels:
                axes.clear()
            _draw_plane(plane, run, data, i)
            output_map(function, run[i], data=data)
            function.set_title("output")
            _draw_loss(loss, run, i)
            canvas.draw()
            found.append(Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB").quantize(_TONES))
    return found


def _draw_plane(axes: Axes, run: Trajectory, data: Dataset, i: int) -> None:
    w = run.weights[0][i]
    a = upper(run)[i]
    reach = 1.15 * float(np.abs(data.x).max() or 1.0)
    longest = float(np.linalg.norm(w, axis=1).max()) or 1.0
    ends = 0.85 * reach * w / longest
    for positive, color, line, shape in ((True, POSITIVE, "-", "o"), (False, NEGATIVE, "--", "s")):
        for x, y in ends[(a >= 0) == positive]:
            axes.plot([0, x], [0, y], line, color=color, linewidth=0.8, alpha=0.6)
        samples = data.x[(data.targets[:, 0] >= 0) == positive]
        axes.plot(*samples.T, shape, color=color, markeredgecolor="black", markersize=6)
    axes.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
    axes.set_title(f"neurons, longest |w| = {longest:.3g}")


def _draw_loss(axes: Axes, run: Trajectory, i: int) -> None:
    axes.plot(run.ts, run.loss, color="0.25", linewidth=1.5)
    axes.plot(run.ts[i], run.loss[i], "o", color=POSITIVE)
    axes.axvline(run.ts[i], color=POSITIVE, linewidth=0.8)
    axes.set(xlabel="time t", ylabel="loss", title=f"t = {run.ts[i]:.4g}", ylim=(0, None))
