"""The picture of "where it holds", from stored numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray

from biasfree import plots
from biasfree_papers.panels import Axes, Figure, Row, picture
from biasfree_papers.where.claims import WITHIN
from biasfree_papers.where.points import DELTA

_COLORS = ("#0072b2", "#009e73", "#d55e00")
_SCALE = "scale $\\gamma$ of the initial weights"
#: The range of errors that is drawn; smaller ones are drawn at its lower end.
_LEAST, _MOST = 1e-7, 5.0


def draw(n: xarray.Dataset) -> Figure:
    """The plateau, the final error and three layers; lazy and rich; six points, symmetry, closed form."""
    above = Row([_plateau, _error, _chance], widths=[1.2, 0.8, 1.05])
    middle = Row([_pairs, _independent, _movements], legend="below", height=1.1)
    return picture(n, [above, middle, [_six, _relaxed, _closed]], height=7.4)


def _plateau(axes: Axes, n: xarray.Dataset) -> None:
    """On every tile: measured, predicted, and the share of seeds that escape."""
    escaped = np.isfinite(n.duration)
    measured, predicted = (
        n.plateau_delta * values.where(escaped & np.isfinite(values)).mean("plateau_seed")
        for values in (n.duration, n.predicted)
    )
    mesh = _tiles(axes, measured, log_y=True)
    _values(axes, "{:.0f}\n({:.0f})\n{:.0f} %", measured, predicted, 100 * n.escaped.mean("plateau_seed"))
    axes.set(xlabel="asymmetry $\\delta$", ylabel=_SCALE)
    axes.figure.colorbar(mesh, ax=axes, label="$\\delta$ × duration of the plateau")


def _error(axes: Axes, n: xarray.Dataset) -> None:
    """Medians over seeds beside the law; leaks side by side."""
    aside = np.linspace(0.93, 1.07, n.sizes["error_leak"])
    colors = plots.leak_colors(n.error_leak.values)
    for i, marker in zip(range(n.sizes["error_leak"]), "osD", strict=False):
        one = n.isel(error_leak=i)
        label = f"leak {float(one.error_leak):g}"
        look: Any = {"mfc": "none", "color": colors[i], "ms": 4, "label": label}
        axes.plot(aside[i] * n.error_width, one.error.median("error_seed"), marker, **look)
    law = n.law_median.isel(error_leak=0)
    plots.theory_curve(axes, n.error_width, law, color="k", lw=0.9, label="law")
    axes.set(xscale="log", yscale="log", xlabel="width $H$", ylabel="final weight error, median")
    _ticks(axes.xaxis, n.error_width)
    _ticks(axes.yaxis, xarray.DataArray([0.05, 0.1, 0.2]))
    axes.legend(fontsize=6)


def _chance(axes: Axes, n: xarray.Dataset) -> None:
    chance, count = n.learned.mean("chance_seed"), n.learned.count("chance_seed").clip(1)
    mesh = _tiles(axes, 100 * chance, vmin=0, vmax=100)
    _values(axes, "{:.0f}\n± {:.0f}", 100 * chance, 100 * np.sqrt(chance * (1 - chance) / count))
    axes.set(xlabel=_SCALE, ylabel="width of both hidden layers")
    axes.figure.colorbar(mesh, ax=axes, label="share of seeds that learn $g$ (%)")


def _tiles(axes: Axes, z: xarray.DataArray, **look: Any) -> Any:
    """The first axis across and on a logarithmic scale, the second upward."""
    x, y = (z[axis] for axis in z.dims)
    mesh = plots.phase_diagram(axes, x, y, z.T, cmap="cividis", log_x=True, **look)
    _ticks(axes.xaxis, x)
    _ticks(axes.yaxis, y)
    return mesh


def _ticks(axis: Any, values: xarray.DataArray) -> None:
    axis.set_ticks(values.values, labels=[f"{value:.4g}" for value in values.values])
    axis.set_ticks([], minor=True)


def _values(axes: Axes, text: str, *values: xarray.DataArray) -> None:
    """The values of every tile, in a color that is read on the first of them."""
    from matplotlib.patheffects import withStroke

    x, y = values[0].dims
    middle = float(values[0].min() + values[0].max()) / 2
    for tile in zip(*(one.stack(tile=(x, y)) for one in values), strict=True):
        if np.isfinite(tile[0]):
            shade, color = ("w", "k") if tile[0] > middle else ("k", "w")
            stroke = [withStroke(linewidth=1.5, foreground=shade)]
            look: Any = {
                "fontsize": 6,
                "color": color,
                "path_effects": stroke,
                "ha": "center",
                "va": "center",
            }
            axes.text(float(tile[0][x]), float(tile[0][y]), text.format(*map(float, tile)), **look)


def _pairs(axes: Axes, n: xarray.Dataset) -> None:
    _errors(axes, n, "pairs")
    axes.set_title("pairs, $f = 0$ at $t = 0$", fontsize=7, loc="right")
    for label, look in (("linearized", "-o"), ("closed form of small weights", "--s")):
        axes.plot([], [], look, color="0.4", mfc="none", ms=3, label=label)


def _independent(axes: Axes, n: xarray.Dataset) -> None:
    _errors(axes, n, "independent")
    axes.set_title("independent weights", fontsize=7, loc="right")


def _errors(axes: Axes, n: xarray.Dataset, kind: str) -> None:
    for color, width in zip(_COLORS, n.regime_width.values, strict=False):
        one = n.sel(regime_kind=kind, regime_width=width)
        _seeds(axes, one.lazy_error.clip(_LEAST), "o", "-", color)
        _seeds(axes, one.rich_error.clip(_LEAST), "s", "--", color)
        axes.plot([], [], color=color, lw=3, label=f"width {width}")
    plots.level(axes, WITHIN, "1 %", side="left")
    axes.set(xscale="log", yscale="log", ylim=(_LEAST / 2, _MOST), xlabel=_SCALE)
    axes.set_ylabel("error of the loss / initial loss")


def _movements(axes: Axes, n: xarray.Dataset) -> None:
    for kind, marker, line in (("pairs", "o", "-"), ("independent", "s", "--")):
        for color, width in zip(_COLORS, n.regime_width.values, strict=False):
            _seeds(axes, n.movement.sel(regime_kind=kind, regime_width=width), marker, line, color)
    axes.text(0.97, 0.62, "independent", transform=axes.transAxes, ha="right", fontsize=7)
    axes.text(0.7, 0.25, "pairs", transform=axes.transAxes, ha="right", fontsize=7)
    axes.set(xscale="log", yscale="log", xlabel=_SCALE, ylabel="movement $|\\theta-\\theta_0|/|\\theta_0|$")


def _six(axes: Axes, n: xarray.Dataset) -> None:
    _seeds(axes, n.six_lazy_error.clip(_LEAST), "o", "-", _COLORS[0])
    _seeds(axes, n.six_movement, "^", ":", _COLORS[2])
    axes.plot([], [], "-o", color=_COLORS[0], mfc="none", ms=3, label="error of linearized training")
    axes.plot([], [], ":^", color=_COLORS[2], mfc="none", ms=3, label="movement of the weights")
    plots.level(axes, WITHIN, "1 %", side="right")
    axes.set(xscale="log", yscale="log", ylim=(_LEAST / 20, 30), xlabel=_SCALE)
    axes.set_ylabel("relative error, relative movement")
    axes.set_title(f"six points, $\\delta$ = {DELTA:g}", fontsize=7, loc="right")
    axes.legend(fontsize=6, loc="lower left")


def _seeds(axes: Axes, values: xarray.DataArray, marker: str, line: str, color: str) -> None:
    """One open marker per seed, and a line through the medians."""
    scale, seed = map(str, values.dims)
    axes.plot(values[scale], values, ls="none", marker=marker, mfc="none", color=color, ms=3, mew=0.6)
    axes.plot(values[scale], values.median(seed), ls=line, color=color, lw=0.9)


def _relaxed(axes: Axes, n: xarray.Dataset) -> None:
    """Medians and middle halves of the seeds; the prediction as a line."""
    looks = (("s", "0.3", "symmetry defect", n.defect), ("o", _COLORS[0], "distance from the twin", n.gap))
    for marker, color, label, values in looks:
        low, middle, high = (100 * values).quantile([0.25, 0.5, 0.75], "relaxed_seed").values
        look: Any = {"mfc": "none", "color": color, "elinewidth": 0.7, "label": label}
        axes.errorbar(n.relaxed_amount, middle, [middle - low, high - middle], fmt=marker, **look)
    predicted = 100 * n.halves.median("relaxed_seed")
    label = "from the two halves"
    plots.theory_curve(axes, n.relaxed_amount, predicted, color=_COLORS[0], lw=0.9, label=label)
    axes.set(xscale="log", yscale="log", xlabel="amount of asymmetry", ylabel="defect and distance (%)")
    axes.legend(fontsize=6, loc="lower right")


def _closed(axes: Axes, n: xarray.Dataset) -> None:
    some = n.isel(closed_samples=np.isfinite(n.closed_samples).values)
    axes.plot(some.closed_samples, some.closed_error, "o", mfc="none", color=_COLORS[2])
    plots.level(axes, float(n.closed_error.sel(closed_samples=np.inf)), "infinite data", color=_COLORS[0])
    axes.set(xscale="log", yscale="log", xlabel="samples $P$", ylabel="error of the closed form / drop")
    _ticks(axes.xaxis, some.closed_samples)
