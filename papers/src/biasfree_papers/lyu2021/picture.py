"""The picture of Lyu et al., from stored numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import xarray

from biasfree import plots
from biasfree_papers.lyu2021.claims import law
from biasfree_papers.panels import picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_DASHES: list[Any] = ["-", (0, (5, 1.5)), (0, (2, 1)), (0, (1, 1))]
_MARKERS = "osDv^<>Ph*"
_MARGIN = "margin over $c/(2|w^*|)$"


def draw(n: xarray.Dataset) -> Figure:
    """Symmetric data above; below a long extra sample, and one beyond the margin."""
    return picture(n, [[_angle, _widths], [_catching_up, _beyond]], height=5.2)


def _leaks(n: xarray.Dataset) -> list[tuple[int, float, dict[str, Any]]]:
    looks = zip(n.leak.values, plots.leak_colors(n.leak.values), _MARKERS, strict=False)
    plain = {"ls": "none", "mfc": "none"}
    return [(i, leak, {"color": c, "marker": m, **plain}) for i, (leak, c, m) in enumerate(looks)]


def _angle(axes: Axes, n: xarray.Dataset) -> None:
    flows = n.reduced_angle.sel(flow_time=n.flow_time > 10)
    ts, first = flows.flow_time, flows.isel(seed=0)
    axes.plot(ts, flows.isel(seed=slice(1, None)), color="0.65", lw=0.8)
    plots.theory_curve(axes, ts, first, color="0.3", label="reduced flow")
    shown = n.spans.sel(inputs=n.d.isel(set=0, drop=True)).isel(seed=0)
    power = float(law(shown))
    guide = (first[-1] * (np.log(ts[-1]) / np.log(ts)) ** power).where(ts > ts[-1] ** 0.3)
    label = "∝ 1/ln t" if power == 1 else "∝ 1/√ln t"
    axes.plot(ts, guide, color="C3", ls=(0, (4, 2)), lw=1.2, label=label, zorder=4)
    for i, leak, look in _leaks(n):
        course = n.angle.sel(leak=leak).isel(seed=0, time=slice(1 + i % 3, None, 3))
        axes.plot(course.time * (1 + leak) / 2, course, label=f"$\\alpha$ = {leak:g}", **look)
    axes.set(xscale="log", yscale="log", xlabel="rescaled time $ct/\\tau$", ylabel="angle to $w^*$ (degrees)")
    axes.set_xlim(10, None)
    _legend(axes, 4)


def _widths(axes: Axes, n: xarray.Dataset) -> None:
    """The share at the last time, all seeds; crosses are seeds of one sign, with their level 2α/(1+α)."""
    widths = n.sel(set=n.d == n.d[0])
    across = np.linspace(-0.04, 0.04, n.sizes["seed"])
    for i, leak, look in _leaks(n):
        axes.axhline(2 * leak / (1 + leak), color=look["color"], lw=0.8, ls=":")
        at = np.arange(widths.sizes["set"]) + 0.13 * (i - (n.sizes["leak"] - 1) / 2)
        share, one = widths.share.sel(leak=leak), widths.one_signed.sel(leak=leak) & (leak < 1)
        axes.plot(at + across[:, None], share.where(~one).transpose("seed", "set"), ms=3, **look)
        crosses = {**look, "marker": "x", "ms": 4, "mew": 1.2}
        axes.plot(at + across[:, None], share.where(one).transpose("seed", "set"), **crosses)
    axes.plot([], [], ls="none", marker="x", color="0.3", ms=4, label="neurons of one sign")
    axes.plot([], [], ls=":", color="0.3", lw=0.8, label="their level $2\\alpha/(1+\\alpha)$")
    axes.set_xticks(range(widths.sizes["set"]), [f"{w}" for w in widths.width.values])
    axes.set(xlabel="width $H$", ylabel=_MARGIN, ylim=(-0.05, 1.05))
    _legend(axes, 2)


def _catching_up(axes: Axes, n: xarray.Dataset) -> None:
    """Margins of the largest leak with the longest extra sample, a line style per scale, and without it."""
    shown, leak = n.extra_share.isel(extra_leak=-1), float(n.extra_leak[-1])
    for k, look in _scales(n):
        curves = shown.isel(size=-1, scale=k).transpose("extra_time", "seed")
        axes.plot(n.extra_time, curves, lw=0.9, **look)
    without = shown.isel(size=0, scale=0, seed=0)
    axes.plot(n.extra_time, without, color="C3", lw=1.2, label="no extra sample")
    plots.level(axes, 1.0, "linear network, the best", side="left")
    plots.level(axes, 2 * leak / (1 + leak), "one sign", side="left")
    axes.texts[-1].set(va="top", position=(0, -3))
    axes.set(ylabel=_MARGIN, ylim=(0.6, 1.05))
    _late_times(axes)


def _scales(n: xarray.Dataset) -> list[tuple[int, dict[str, Any]]]:
    """A look per scale, and the label of the first of the lines of all seeds."""
    colors, unnamed = plots.leak_colors(0.35 * np.arange(n.sizes["scale"])), ["_"] * (n.sizes["seed"] - 1)
    looks = zip(n.scale.values, colors, strict=True)
    return [
        (k, {"color": color, "ls": _DASHES[k % 4], "label": [f"scale {scale:g}", *unnamed]})
        for k, (scale, color) in enumerate(looks)
    ]


def _beyond(axes: Axes, n: xarray.Dataset) -> None:
    """ReLU networks with the sample beyond the margin, against the better network and the linear one."""
    after = n.beyond_share.isel(beyond_time=slice(1, None))
    for k, look in _scales(n):
        if k == 0:  # a pale band: others lie on it
            look = {**look, "color": 0.4 * np.array(look["color"]) + 0.6, "lw": 4.0}
        axes.plot(after.beyond_time, after.isel(scale=k).transpose("beyond_time", "seed"), **look)
    plots.level(axes, 1.0, f"best network of {int(n.neurons)} neurons", side="left")
    plots.level(axes, float(n.beyond_linear), "linear network")
    axes.set(ylabel="margin over the best", ylim=(0.7, 1.05))
    _late_times(axes)


def _late_times(axes: Axes) -> None:
    axes.set(xscale="log", xlabel="time $t/\\tau$")
    axes.set_xlim(1e2, None)
    _legend(axes, 4)


def _legend(axes: Axes, columns: int) -> None:
    """Above the panel, where it covers nothing."""
    place: Any = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.08), "ncols": columns, "fontsize": 6.5}
    axes.legend(**place, handletextpad=0.3, labelspacing=0.25, columnspacing=0.8)
