"""Panels of App. C.5 and C.6: errors of all seeds on an axis with a gap between tiny and large values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import xarray

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
