"""The picture of high-dimensional samples, from stored numbers."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import xarray

from biasfree import plots
from biasfree_papers.lai2026.claims import FITTED, exponent
from biasfree_papers.lai2026.compute import MEASURES
from biasfree_papers.panels import Axes, Figure, picture
from biasfree_papers.shared.picture import colors

_MARKERS = {"labels": "o", "noise": "s"}
_LOOKS: dict[str, Any] = {
    "two neurons": {"color": "#0072b2", "ls": "-"},
    "networks": {"color": "#d55e00", "ls": "--"},
}
_WORDS = ("from $X^+y$, two neurons", "from $X^+y$, networks", "from ReLU interpolator, two neurons")


def draw(n: xarray.Dataset) -> Figure:
    """Distances of both models from X⁺y, of two neurons from the ReLU interpolator; and who interpolates."""
    two, wide, relu = (partial(_distances, which=which) for which in range(3))
    return picture(n, [[two, wide], [relu, _fits]], height=5.2, legend="below")


def _distances(axes: Axes, n: xarray.Dataset, which: int) -> None:
    """Medians over seeds with their quartiles, the line ½√(n/d), and the fitted exponents."""
    x, shades = 1 / n.ratio, colors(n.sizes["samples"])
    ends = np.array([0.6 * x.min(), 1.6 * x.max()])
    plots.theory_curve(axes, ends, np.sqrt(ends) / 2, color="k", lw=1.0, label="$\\frac{1}{2}\\sqrt{n/d}$")
    if which == 2:
        plots.theory_curve(axes, ends, ends, color="0.3", ls="--", lw=0.9, label="$n/d$")
    for i, (target, marker) in enumerate(_MARKERS.items()):
        for j, shade in enumerate(shades):
            shift = 1.09 ** (j - (len(shades) - 1) / 2 + 0.25 * (2 * i - 1))
            values = n.distance.sel(measure=MEASURES[which], target=target).isel(samples=j)
            low, middle, high = values.quantile([0.25, 0.5, 0.75], "seed")
            looks: Any = {"fmt": marker, "mfc": "none", "color": shade, "ms": 3.2, "elinewidth": 0.6}
            axes.errorbar(shift * x, middle, [middle - low, high - middle], **looks)
        axes.plot([], [], marker, mfc="none", color="0.3", label=target)
    for size, shade in zip(n.samples.values, shades, strict=True):
        axes.plot([], [], color=shade, lw=2, label=f"$n$ = {size}")
    lines = [f"{target}: $p$ = {exponent(n, MEASURES[which], target)}" for target in _MARKERS]
    axes.text(0.98, 0.03, "\n".join(lines), transform=axes.transAxes, ha="right", va="bottom", fontsize=7)
    axes.set(xscale="log", yscale="log", xlabel="$n/d$", xlim=ends, ylim=(2e-4 if which == 2 else 0.02, 1.5))
    axes.set_ylabel(f"relative distance\n{_WORDS[which]}")


def _fits(axes: Axes, n: xarray.Dataset) -> None:
    share = 100 * (n.fit_error < FITTED).mean(("samples", "seed"))
    for model, look in _LOOKS.items():
        for target, marker in _MARKERS.items():
            looks: Any = {"lw": 0.8, "marker": marker, "mfc": "none", **look}
            axes.plot(1 / n.ratio, share.sel(model=model, target=target), **looks)
        axes.plot([], [], lw=0.8, label=f"{model} (d)", **look)
    axes.set(xscale="log", xlabel="$n/d$", ylabel="runs that interpolate (%)", ylim=(-4, 104))
