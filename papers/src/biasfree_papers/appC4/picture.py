"""The picture of App. C.4, from stored numbers."""

from __future__ import annotations

from typing import Any

import xarray

from biasfree import plots
from biasfree_papers.panels import Axes, Figure, picture
from biasfree_papers.shared.picture import colors, legend_above, once

_TIME = "rescaled time $cst/\\tau$"


def draw(n: xarray.Dataset) -> Figure:
    """Loss curves, and the end against λ and against λ/c."""
    return picture(n, [[_losses, _ends, _collapsed]], height=3.1)


def _losses(axes: Axes, n: xarray.Dataset) -> None:
    shown = n.sel(leak=[0, 0.5], method="nearest").loss
    for strength, color in zip(n.strength.values, colors(n.sizes["strength"]), strict=True):
        label = f"$\\lambda/c$ = {strength:g} $s$"
        plots.theory_curve(axes, n.time, n.reduced.sel(strength=strength), color=color, label=label)
        for loss, marker, shift in zip(shown.sel(strength=strength), "os", (0.0, 0.5), strict=True):
            look: Any = {"shown": 9, "shift": shift, "color": color, "marker": marker}
            plots.simulated_points(axes, n.time, loss, **look)
    axes.set(xlabel=_TIME, ylabel="loss", xlim=(0, n.time[-1]), ylim=(0, None))
    legend_above(axes)


def _ends(axes: Axes, n: xarray.Dataset) -> None:
    white, shades = n.sel(task="white"), plots.leak_colors(n.leak.values)
    for leak, color in zip(n.leak.values, shades, strict=True):
        c = (1 + leak) / 2
        plots.theory_curve(axes, c * n.fine, white.solution_size, color=color)
        axes.plot(c * n.strength, white.end_size.sel(leak=leak), "o", mfc="none", color=color)
    axes.set(xlabel="strength $\\lambda/s$", ylabel="$|w|/s$ at the end", xlim=(-0.03, 1.3))
    plots.leak_legend(axes, n.leak.values, shades, loc="upper right")


def _collapsed(axes: Axes, n: xarray.Dataset) -> None:
    looks = {"white": ("white data", "-", "o", "k"), "raw": ("before whitening", "--", "D", "#b2182b")}
    for task, (label, style, marker, color) in looks.items():
        own = n.sel(task=task)
        plots.theory_curve(axes, n.fine, own.solution_size, ls=style, color=color)
        sizes = own.end_size.stack(run=("leak", "seed"))
        labels = once(label, sizes.sizes["run"])
        axes.plot(n.strength, sizes, marker, mfc="none", color=color, label=labels)
    axes.set(xlabel="the linear twin's strength $\\lambda/(cs)$", ylabel="$|w|/s$ at the end, all leaks")
    axes.legend(loc="upper right")
