"""The picture of the test bench, from stored numbers."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import xarray

from biasfree_papers.conjecture.claims import finished, halves_finished
from biasfree_papers.panels import Axes, Figure, Row, picture

_LOOKS: dict[str, Any] = {
    "large": {"marker": "s", "color": "#c26a00"},
    "small": {"marker": "o", "color": "#1f4e9c"},
    "half": {"marker": "^", "color": "#2a7f4f"},
}
_SIDES = {"large": -0.25, "small": 0.25}
_ROWS = {"linear": "linear target", "odd": "odd target, at least squares"}


def draw(n: xarray.Dataset) -> Figure:
    """Distance from Eq. 40 by kind of inputs: a column per depth, a row per target."""
    rows = [
        Row([partial(_distances, target=target, depth=int(d)) for d in n.depth], share_y=True, height=height)
        for target, height in (("linear", 1.0), ("odd", 1.25))
    ]
    return picture(n, rows, height=5.0)


def _distances(axes: Axes, n: xarray.Dataset, *, target: str, depth: int) -> None:
    one, kinds = n.sel(target=target, depth=depth), n.kind.values.tolist()
    one = one.assign(done=finished(one))
    axes.set(yscale="log", ylim=(1.3e-3, 1.6), xlim=(-0.6, len(kinds) - 0.4))
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    for i, kind in enumerate(kinds):
        axes.axvspan(i - 0.5, i + 0.5, color="0.96" if i % 2 == 0 else "1.0", lw=0, zorder=0)
        for size, side in _SIDES.items():
            if size == "large" or target == "linear":
                _markers(axes, one.sel(kind=kind, size=size), i + side, _LOOKS[size])
        if target == "linear" and "deep" in n.dims and depth in n.deep:
            half = {"done": halves_finished(n), "distance": n.half_distance, "kept": n.half_kept}
            _markers(axes, xarray.Dataset(half).sel(kind=kind, deep=depth), i, _LOOKS["half"])
    if depth == n.depth[0]:
        axes.set_ylabel(f"distance from Eq. 40\n{_ROWS[target]}")
    axes.set_xticks(range(len(kinds)), [""] * len(kinds))
    if target == "linear":
        axes.set_title(f"$L$ = {depth} layers")
    else:
        axes.set_xticklabels(kinds, rotation=35, ha="right", rotation_mode="anchor")
        axes.set_xlabel("inputs")
        _legend(axes, n, depth)


def _markers(axes: Axes, runs: xarray.Dataset, at: float, look: Any) -> None:
    """Markers of what finished, crosses on the edge for the rest, and a line at the median γ/u."""
    x, done = at + np.linspace(-0.11, 0.11, runs.sizes["seed"]), runs.done.values
    axes.plot(x[done], runs.distance[done], ls="none", mfc="none", **look)
    axes.plot(x[~done], np.full((~done).sum(), 1.25), ls="none", marker="x", color=look["color"])
    if done.any():
        ends = x.min() - 0.07, x.max() + 0.07
        axes.hlines(runs.kept[done].median(), *ends, color=look["color"], lw=1.6, alpha=0.5)


def _legend(axes: Axes, n: xarray.Dataset, depth: int) -> None:
    from matplotlib.lines import Line2D

    labels = {size: f"$\\gamma$ = {float(n.scale.sel(depth=depth, size=size)):g}" for size in _SIDES}
    if "deep" in n.dims and depth in n.deep:
        labels["half"] = f"$\\gamma$ = {float(n.half_scale):g}, half"
    handles = [Line2D([], [], ls="none", mfc="none", label=labels[one], **_LOOKS[one]) for one in labels]
    handles.append(Line2D([], [], color="0.4", lw=1.6, alpha=0.6, label="$\\gamma/u$"))
    handles.append(Line2D([], [], ls="none", marker="x", color="0.4", label="not followed"))
    small: Any = {"fontsize": 6.5, "handlelength": 1.2, "columnspacing": 0.6, "handletextpad": 0.4}
    axes.legend(handles=handles, ncols=2, loc="lower center", **small)
