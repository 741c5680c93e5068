"""Parts of pictures that several figures share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import xarray

from biasfree import plots
from biasfree.data import Dataset
from biasfree.networks import Network

if TYPE_CHECKING:
    from matplotlib.axes import Axes


#: Shapes that can be told apart where colors cannot.
MARKERS = "osDv^<>Ph*"
#: Markers of points, by the sign of their targets.
SIGNS = {1: "+", -1: "_"}


def once(label: str, count: int) -> list[str]:
    """Labels of `count` lines, of which a legend shows the first."""
    return [label, *["_"] * count][:count]


def legend_above(axes: Axes, height: float = 1.1, **options: Any) -> None:
    """A legend of two columns above a panel, where it covers nothing."""
    look: Any = {"ncols": 2, "fontsize": 6.5, "title_fontsize": 6.5, "columnspacing": 0.8, **options}
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, height), handletextpad=0.3, **look)


def neurons(axes: Axes, inner: np.ndarray, outer: np.ndarray, data: Dataset) -> str:
    """Directions of neurons, radii as cube roots, and of the points; returns the largest radius in words."""
    lengths = np.linalg.norm(inner, axis=1, keepdims=True)
    second = np.sign(outer) * np.cbrt(np.abs(outer) / np.abs(outer).max())
    shown = Network((inner / lengths * np.cbrt(lengths / lengths.max()), second.reshape(1, -1)))
    plots.directions(axes, shown, rasterized=True)
    points = 1.15 * data.x / np.linalg.norm(data.x, axis=1)[:, None]  # beyond the largest neuron
    for sign, marker in SIGNS.items():
        axes.scatter(*points[np.sign(data.y) == sign].T, marker=marker, color="k", lw=1, zorder=3)
    axes.set(xlim=(-1.35, 1.35), ylim=(-1.35, 1.35), xticks=(-1, 0, 1), yticks=(-1, 0, 1))
    axes.set(xlabel="$w_{h1}$ (cube-root scale)", ylabel="$w_{h2}$")
    axes.set_aspect("equal", adjustable="box")
    power = int(np.floor(np.log10(lengths.max())))
    return f"{lengths.max() / 10.0**power:.1f}·10$^{{{power}}}$"


def colors(n: int) -> list[tuple[float, ...]]:
    """n colors from dark to light."""
    return plots.leak_colors(np.linspace(0, 1, n))


def broken(upper: Axes, xlabel: str, ylabel: str) -> Axes:
    """A gap in the vertical axis of a panel: new axes below it, for tiny values, are returned."""
    whole = upper.get_subplotspec()
    if whole is None:
        raise ValueError("only axes of a grid can have a gap; make them with `subplots`.")
    parts = whole.subgridspec(2, 1, height_ratios=(4, 1), hspace=0)
    upper.set_subplotspec(parts[0])
    lower = upper.figure.add_subplot(parts[1], sharex=upper)
    upper.spines["bottom"].set_visible(False)
    upper.tick_params(axis="x", which="both", bottom=False, labelbottom=False)
    mark: Any = {"marker": [(-1, -0.5), (1, 0.5)], "ms": 7, "mew": 0.8, "color": "k", "clip_on": False}
    upper.plot(0, 0, transform=upper.transAxes, **mark)
    lower.plot(0, 1, transform=lower.transAxes, **mark)
    upper.set_ylabel(ylabel, y=0.35)
    lower.set_xlabel(xlabel)
    return lower


def seeds_and_median(
    axes: Axes, values: xarray.DataArray, over: str, *, spread: float, color: Any, marker: str, ls: Any
) -> None:
    """All runs as small markers, `spread` decades to either side, and a line through their medians."""
    runs = values.stack(run=[dim for dim in values.dims if dim != over]).transpose(over, "run")
    x = values[over].values
    around = np.outer(x, 10 ** np.linspace(-spread, spread, runs.sizes["run"]))
    small: Any = {"ms": 2.2, "mew": 0.4, "alpha": 0.65, "mfc": "none"}
    axes.plot(around, runs, marker=marker, ls="none", color=color, **small)
    axes.plot(x, runs.median("run"), ls=ls, color=color)
