"""The picture of networks with a fixed second layer, from stored numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import xarray

from biasfree import plots
from biasfree_papers.panels import picture
from biasfree_papers.sarussi2021.claims import exponent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_STYLES: list[Any] = ["-", (0, (5, 1.5)), (0, (3, 1, 1, 1)), (0, (1, 1))]
_MARKERS = "osDv^<>Ph*"
_DIFFER = "sign $f$ ≠ sign $\\ell$ (% of directions)"


def draw(n: xarray.Dataset) -> Figure:
    """Boundaries by samples and over time; below mirrored data and the linear model."""
    return picture(n, [[_by_samples, _over_time], [_by_scale, _model]], height=5.2)


def _legend(axes: Axes, columns: int) -> None:
    """Above the panel, where it covers nothing."""
    place: Any = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.08), "ncols": columns, "fontsize": 6.5}
    axes.legend(**place, handletextpad=0.3, labelspacing=0.25, columnspacing=0.8)


def _by_samples(axes: Axes, n: xarray.Dataset) -> None:
    """Medians at the early time, a line per scale, with bars from the least to the largest of the seeds."""
    differ = 100 * n.differ.sel(when="early")
    for i, color in enumerate(plots.leak_colors(np.linspace(0, 1, n.sizes["scale"]))):
        one = differ.isel(scale=i)
        middle = one.median("seed")
        bars = [middle - one.min("seed"), one.max("seed") - middle]
        look: Any = {"color": color, "marker": _MARKERS[i % 10], "mfc": "none", "elinewidth": 0.6}
        at = n.samples * 1.05 ** (i - (n.sizes["scale"] - 1) / 2)
        axes.errorbar(at, middle, yerr=bars, ls=_STYLES[i % 4], label=f"scale {float(n.scale[i]):g}", **look)
    axes.set(xscale="log", xlabel="samples $P$", ylabel=_DIFFER, ylim=(0, None))
    axes.set_xticks(n.samples.values, [f"{m}" for m in n.samples.values])
    axes.set_xticks([], minor=True)
    _legend(axes, 4)


def _over_time(axes: Axes, n: xarray.Dataset) -> None:
    """From the least scale, a line per number of samples, medians of the seeds."""
    for i, color in enumerate(plots.leak_colors(np.linspace(0, 1, n.sizes["samples"]))):
        course = 100 * n.course.isel(samples=i).median("seed")
        axes.plot(n.time, course, color=color, ls=_STYLES[i % 4], label=f"$P$ = {int(n.samples[i])}")
    axes.set(xscale="log", xlabel="time $t/\\tau$", ylabel=_DIFFER, ylim=(0, None))
    _legend(axes, 4)


def _by_scale(axes: Axes, n: xarray.Dataset) -> None:
    """Mirrored data: distance from the linear model, and the even part, against the scale."""
    power, unnamed = exponent(n), ["_"] * (n.sizes["seed"] - 1)
    looks: Any = {"ls": "none", "mfc": "none"}
    gap, even = (values.transpose("scale", "seed") for values in (n.gap, np.sqrt(n.even)))
    label = "$|W_1-W_2^{\\top}v^{\\top}|\\,/\\,|W_1|$"
    axes.plot(n.scale, gap, marker="o", color="C0", label=[label, *unnamed], **looks)
    axes.plot(n.scale, even, marker="s", color="C3", label=["even part, rms share", *unnamed], **looks)
    line = gap[0].median() / n.scale[0] * n.scale
    axes.plot(n.scale, line, color="0.3", label=f"∝ scale (fit: {power.estimate:.3f} ± {power.error:.1g})")
    axes.set(xscale="log", yscale="log", xlabel="initial scale $|W_1(0)|$", ylabel="mirrored data, distance")
    _legend(axes, 2)


def _model(axes: Axes, n: xarray.Dataset) -> None:
    """|w| of the linear model at its own time, both losses, theory as lines and networks as markers."""
    own, leaks = n.own_time, n.model_leak.values
    for loss, style in (("square", _STYLES[1]), ("logistic", "-")):
        solved = n.solved.sel(loss=loss).isel(model_leak=0)
        plots.theory_curve(axes, own[1:], solved[1:], color="0.3", ls=style, label=f"linear model, {loss}")
    for i, (leak, color) in enumerate(zip(leaks, plots.leak_colors(leaks), strict=True)):
        look: Any = {"ls": "none", "marker": _MARKERS[i % 10], "mfc": "none", "color": color}
        at = slice(1 + i % 4, None, 4)
        both = n.simulated.isel(model_leak=i, own_time=at).transpose("own_time", "loss")
        axes.plot(own[at], both, label=[f"$\\alpha$ = {leak:g}", "_"], **look)
    axes.set(xscale="log", ylim=(0, None))
    axes.set(xlabel="its time $c^2|W_2|^2t/\\tau$", ylabel="$|w|$, mirrored data")
    _legend(axes, 3)
