"""The picture of Lyu et al., from stored numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray

from biasfree import plots
from biasfree_papers.lyu2021.claims import law, one_signed
from biasfree_papers.panels import Axes, Figure, picture
from biasfree_papers.shared.picture import MARKERS, once

_MARGIN = "margin over $c/(2|w^*|)$"


def draw(n: xarray.Dataset) -> Figure:
    """Angles and margins on symmetric data, and margins with one sample more."""
    return picture(n, [[_angle, _widths, _extra]], height=2.9, legend="below")


def _leaks(n: xarray.Dataset) -> list[tuple[int, float, dict[str, Any]]]:
    looks = zip(n.leak.values, plots.leak_colors(n.leak.values), MARKERS, strict=False)
    plain = {"ls": "none", "mfc": "none"}
    return [(i, leak, {"color": c, "marker": m, **plain}) for i, (leak, c, m) in enumerate(looks)]


def _angle(axes: Axes, n: xarray.Dataset) -> None:
    shown = n.isel(width=-1, seed=0)
    for i, leak, look in _leaks(n):
        course = shown.sel(leak=leak).isel(time=slice(1 + i % 3, None, 3))
        axes.plot(course.ts * (1 + leak) / 2, course.angle, label=f"$\\alpha$ = {leak:g}", **look)
    power = float(law(n.spans).isel(seed=0).sel(inputs=n.dimensions))
    ts = np.geomspace(float(n.ts.max()) ** 0.3, float(n.ts.max()), 50)
    guide = float(shown.angle.isel(leak=-1).dropna("time")[-1]) * (np.log(ts[-1]) / np.log(ts)) ** power
    plots.theory_curve(axes, ts, guide, label="∝ 1/ln t" if power == 1 else "∝ 1/√ln t")
    axes.set(xscale="log", yscale="log", xlabel="rescaled time $ct/\\tau$", ylabel="angle to $w^*$ (degrees)")
    axes.set_xlim(10, None)


def _widths(axes: Axes, n: xarray.Dataset) -> None:
    """The share at the last time, all seeds; crosses are seeds of one sign, with their level 2α/(1+α)."""
    across = np.linspace(-0.04, 0.04, n.sizes["seed"])[:, None]
    for i, leak, look in _leaks(n):
        axes.axhline(2 * leak / (1 + leak), color=look["color"], lw=0.8, ls=":")
        at = np.arange(n.sizes["width"]) + 0.13 * (i - (n.sizes["leak"] - 1) / 2) + across
        share = n.share.sel(leak=leak).transpose("seed", "width")
        one = one_signed(n).sel(leak=leak) & (leak < 1)
        axes.plot(at, share.where(~one), ms=3, **look)
        axes.plot(at, share.where(one), **{**look, "marker": "x", "ms": 4, "mew": 1.2})
    axes.plot([], [], ls=":", marker="x", color="0.3", ms=4, lw=0.8, label="one sign, its level")
    axes.set_xticks(range(n.sizes["width"]), [f"{w}" for w in n.width.values])
    axes.set(xlabel="width $H$", ylabel=_MARGIN, ylim=(-0.05, 1.05))


def _extra(axes: Axes, n: xarray.Dataset) -> None:
    """Margins of the largest leak with the extra sample, a color per scale."""
    shown, leak = n.extra_share.isel(extra_leak=-1, extra_time=slice(1, None)), float(n.extra_leak[-1])
    for scale, color in zip(
        n.scale.values, plots.leak_colors(0.35 * np.arange(n.sizes["scale"])), strict=True
    ):
        labels = once(f"scale {scale:g}", n.sizes["seed"])
        axes.plot(shown.extra_time, shown.sel(scale=scale).T, color=color, lw=0.9, label=labels)
    plots.level(axes, 1.0, "linear network, the best", side="left")
    plots.level(axes, 2 * leak / (1 + leak), "one sign", side="left")
    axes.texts[-1].set(va="top", position=(0, -3))
    axes.set(xscale="log", xlabel="time $t/\\tau$", ylabel=_MARGIN, ylim=(0.6, 1.05))
    axes.set_xlim(1e2, None)
