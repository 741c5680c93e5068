"""Pictures of a run at one time: the plane with its neurons, the function, and the loss."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from biasfree.data import Dataset
from biasfree.lab._replay import upper
from biasfree.plots import NEGATIVE, POSITIVE, output_map, style
from biasfree.trajectory import Trajectory

if TYPE_CHECKING:
    from PIL.Image import Image

_INCHES = (9.6, 3.2)
_DOTS = 110


class Pictures:
    """Pictures of one run, as a context that frees Matplotlib's figure."""

    def __init__(self, run: Trajectory, data: Dataset):
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        self._run = run
        self._data = data
        self._upper = upper(run)
        with style():
            self._figure: Any = Figure(figsize=_INCHES, dpi=_DOTS, layout="constrained")
            self._canvas = FigureCanvasAgg(self._figure)
            self._axes = self._figure.subplots(1, 3, width_ratios=(1, 1, 1.4))
        self._reach = 1.15 * float(np.abs(data.x).max() or 1.0)

    def __enter__(self) -> Pictures:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._figure.clear()

    def at(self, i: int) -> Image:
        """The picture at the i-th saved time."""
        from PIL import Image

        with style():
            self._draw_plane(i)
            self._draw_function(i)
            self._draw_loss(i)
            self._canvas.draw()
        return Image.fromarray(np.asarray(self._canvas.buffer_rgba())).convert("RGB")

    def _samples(self, ax: Any) -> None:
        data = self._data
        for sign, shape, color in ((1, "o", POSITIVE), (-1, "s", NEGATIVE)):
            some = (data.targets[:, 0] >= 0) == (sign > 0)
            ax.plot(*data.x[some].T, shape, color=color, markeredgecolor="black", markersize=6)
        ax.set(xlim=(-self._reach, self._reach), ylim=(-self._reach, self._reach), aspect="equal")

    def _draw_plane(self, i: int) -> None:
        ax = self._axes[0]
        w = self._run.weights[0][i]
        a = self._upper[i]
        ax.clear()
        longest = float(np.linalg.norm(w, axis=1).max()) or 1.0
        ends = 0.85 * self._reach * w / longest
        for sign, color, line in ((1, POSITIVE, "-"), (-1, NEGATIVE, "--")):
            for x, y in ends[(a >= 0) == (sign > 0)]:
                ax.plot([0, x], [0, y], line, color=color, linewidth=0.8, alpha=0.6)
        self._samples(ax)
        ax.set_title(f"neurons, longest |w| = {longest:.3g}")

    def _draw_function(self, i: int) -> None:
        ax = self._axes[1]
        ax.clear()
        output_map(ax, self._run[i], data=self._data)
        ax.set_title("output")

    def _draw_loss(self, i: int) -> None:
        ax = self._axes[2]
        run = self._run
        ax.clear()
        ax.plot(run.ts, run.loss, color="0.25", linewidth=1.5)
        ax.plot(run.ts[i], run.loss[i], "o", color=POSITIVE)
        ax.axvline(run.ts[i], color=POSITIVE, linewidth=0.8)
        ax.set(xlabel="time t", ylabel="loss", title=f"t = {run.ts[i]:.4g}", ylim=(0, None))


def picture(run: Trajectory, data: Dataset, i: int) -> Image:
    """The picture of a run at its i-th saved time."""
    with Pictures(run, data) as pictures:
        return pictures.at(i)
