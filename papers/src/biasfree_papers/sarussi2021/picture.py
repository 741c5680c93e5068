"""The picture of networks with a fixed second layer, from stored numbers."""

from __future__ import annotations

from typing import Any

import xarray

from biasfree_papers.panels import Axes, Figure, picture
from biasfree_papers.sarussi2021.claims import exponent
from biasfree_papers.sarussi2021.compute import EARLY
from biasfree_papers.shared.picture import MARKERS, colors, legend_above, once

_STYLES: list[Any] = ["-", (0, (5, 1.5)), (0, (3, 1, 1, 1)), (0, (1, 1))]
_DIFFER = "sign $f$ ≠ sign $\\ell$ (% of directions)"


def draw(n: xarray.Dataset) -> Figure:
    """Boundaries by samples and by leak, and the distance from the linear model on mirrored data."""
    return picture(n, [[_by_samples, _by_leak, _by_scale]], height=2.9)


def _by_samples(axes: Axes, n: xarray.Dataset) -> None:
    """Medians at the early time, a line per scale, with bars from the least to the largest of the seeds."""
    differ = 100 * n.differ.sel(when="early")
    for i, color in enumerate(colors(n.sizes["scale"])):
        one = differ.isel(scale=i)
        middle = one.median("seed")
        bars = [middle - one.min("seed"), one.max("seed") - middle]
        look: Any = {"color": color, "marker": MARKERS[i], "mfc": "none", "elinewidth": 0.6}
        at = n.samples * 1.05 ** (i - (n.sizes["scale"] - 1) / 2)
        axes.errorbar(at, middle, yerr=bars, ls=_STYLES[i % 4], label=f"scale {float(n.scale[i]):g}", **look)
    axes.set(xscale="log", xlabel="samples $P$", ylabel=_DIFFER, ylim=(0, None))
    axes.set_xticks(n.samples.values, [f"{m}" for m in n.samples.values])
    axes.set_xticks([], minor=True)
    legend_above(axes, 1.08, labelspacing=0.25)


def _by_leak(axes: Axes, n: xarray.Dataset) -> None:
    """All seeds at both times, and their medians, for the most samples and the least scale."""
    shown = 100 * n.variant_differ.sel(variant=n.varied == "leak")
    for when, look, label in (("early", "C0o", f"$t$ = {EARLY:g}"), ("last", "C1s", "the last time")):
        one = shown.sel(when=when)
        labels = once(label, n.sizes["seed"])
        axes.plot(one.value, one.transpose("variant", "seed"), look, mfc="none", ms=3, label=labels)
        axes.plot(one.value, one.median("seed"), look[:2] + "-", lw=0.8)
    axes.set(xlabel="leak $\\alpha$", ylabel=_DIFFER, ylim=(0, None))
    legend_above(axes, 1.08, labelspacing=0.25)


def _by_scale(axes: Axes, n: xarray.Dataset) -> None:
    """Mirrored data: distance from the linear model against the scale."""
    power, gap = exponent(n), n.gap.transpose("scale", "seed")
    axes.plot(n.scale, gap, "C0o", mfc="none", label=once("all seeds", n.sizes["seed"]))
    line = gap[0].median() / n.scale[0] * n.scale
    axes.plot(n.scale, line, color="0.3", label=f"∝ scale (fit: {power.estimate:.3f} ± {power.error:.1g})")
    axes.set(xscale="log", yscale="log", xlabel="initial scale $|W_1(0)|$")
    axes.set_ylabel("mirrored: $|W_1-W_2^{\\top}v^{\\top}|\\,/\\,|W_1|$")
    legend_above(axes, 1.08, labelspacing=0.25)
