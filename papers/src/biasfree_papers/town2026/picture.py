"""The picture: escapes one by one, the probability to fit, and the two laws."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray

from biasfree import plots
from biasfree_papers.panels import Axes, Figure, picture
from biasfree_papers.shared.picture import MARKERS, colors
from biasfree_papers.shared.statistics import written
from biasfree_papers.town2026.compute import probability

_AFTER = 1.25  # where a run is no longer shown, in times of its last escape


def draw(n: xarray.Dataset) -> Figure:
    """Escapes and who can fit above, both laws below."""
    return picture(n, [[_loss, _probability], [_threshold, _norm]], height=5.2)


def _loss(axes: Axes, n: xarray.Dataset) -> None:
    """The losses of the limit γ → 0, constant between escapes, and how many directions have grown."""
    due, left, first = n.shown_due.values, n.shown_left.values, float(n.shown_loss[0])
    edges, levels = np.concatenate([[0], np.repeat(due, 2), [_AFTER * due[-1]]]), np.append(first, left)
    plots.theory_curve(axes, edges, np.repeat(levels, 2), color="0.4", label="γ → 0")
    look: Any = {"color": "k", "shown": 45, "label": "descent"}
    plots.simulated_points(axes, n.shown_time, n.shown_loss, **look)
    middles = (due + np.append(due[1:], edges[-1])) / 2
    plateaus = zip(middles, left, strict=True)
    words: Any = {"textcoords": "offset points", "ha": "center", "fontsize": 7, "color": "C1"}
    for count, where in zip(n.directions.isel(saddle_seed=int(n.shown)).values, plateaus, strict=False):
        axes.annotate(f"{count:g}", where, (0, 5), **words)
    axes.plot([], [], ls="none", marker="$1$", color="C1", label="directions grown")
    axes.set(xlabel="time $t/\\tau$", ylabel="loss", ylim=(-0.02 * first, 1.12 * first))
    axes.set_xlim(None, edges[-1])
    axes.legend(loc="lower left")


def _probability(axes: Axes, n: xarray.Dataset) -> None:
    widths = np.arange(1, int(n.widths.max()) + 1)
    shades = colors(n.sizes["samples"])
    for size, color, marker in zip(n.samples.values.tolist(), shades, MARKERS, strict=False):
        axes.plot(widths, [probability(size, width) for width in widths.tolist()], color=color)
        one = n.sel(samples=size)
        share = one.covered / n.draws
        look: Any = {"ls": "none", "marker": marker, "color": color}
        bar = 2 * np.sqrt(share * (1 - share) / n.draws)
        axes.errorbar(one.widths, share, bar, mfc="none", label=f"$n$ = {size}", ms=3, lw=0.8, **look)
    axes.set(xlabel="width $m$", ylabel="probability to fit all samples")
    axes.legend(loc="lower right", handletextpad=0.2)


def _threshold(axes: Axes, n: xarray.Dataset) -> None:
    looks: Any = {"ls": "none", "marker": "o", "mfc": "none", "color": "k"}
    axes.errorbar(n.samples, n.half, 2 * n.half_error, label="seeds", **looks)
    axes.plot(n.samples, n.exact_half, color="C0", label="formula")
    first, rise = n.exact_half[0], np.log(n.samples / n.samples[0])
    axes.plot(n.samples, first + 2 / np.log(2) * rise, color="0.4", ls=":", label="slope 2/ln 2")
    axes.plot(n.samples, first + rise / np.log(4 / 3), color="0.4", ls="--", label="slope 1/ln(4/3)")
    slope = f"slope {written(n.slope, n.slope_error)}"
    axes.text(0.97, 0.05, slope, ha="right", transform=axes.transAxes, fontsize=7)
    _samples_axis(axes, n.samples)
    axes.set_ylabel("width of probability ½, $m_{1/2}$")
    axes.legend(loc="upper left")


def _norm(axes: Axes, n: xarray.Dataset) -> None:
    wide, limit = n.norm.sel(trained_width="large") / n.least, n.limit_norm / np.sqrt(2 * n.limit_samples)
    axes.plot(n.samples, wide, ls="none", marker="o", mfc="none", color="0.7", ms=2.5, zorder=1)
    axes.plot(n.samples, wide.mean("seed"), marker="o", color="k", label="trained")
    axes.plot(n.limit_samples, limit.mean("seed"), ls="--", marker="x", ms=4, color="C0", label="γ → 0")
    axes.axhline(1, color="0.4", ls=":", lw=0.9)
    axes.axhline(1 + np.sqrt(2), color="C0", ls=":", lw=0.9)
    _samples_axis(axes, n.limit_samples)
    axes.set(ylabel="½|θ|² / √(2n)", ylim=(0.9, 1.05 * (1 + np.sqrt(2))))
    axes.legend(loc="upper left", bbox_to_anchor=(0, 0.92))


def _samples_axis(axes: Axes, sizes: xarray.DataArray) -> None:
    axes.set_xscale("log", base=2)
    axes.set_xticks(sizes.values, map(str, sizes.values))
    axes.set_xlabel("samples $n$")
