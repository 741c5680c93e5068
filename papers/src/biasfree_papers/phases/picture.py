"""The phase diagrams, from stored numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import xarray

from biasfree import plots
from biasfree_papers.panels import picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw(n: xarray.Dataset) -> Figure:
    """Four diagrams: the plateau, the final error, the structure, and the chance to learn."""
    return picture(n, [[_plateau, _error], [_structure, _chance]], height=6.2)


def _plateau(axes: Axes, n: xarray.Dataset) -> None:
    measured = n.duration.where(np.isfinite(n.duration)).mean("plateau_seed") * n.plateau_delta
    mesh = _tiles(axes, measured, x="plateau_delta", y="plateau_scale", log_y=True, log_x=True)
    _values(axes, measured, 100 * n.escaped.mean("plateau_seed"), "{:.0f}\n{:.0f} %")
    _surface(axes, n)
    _bracket(axes, n, "escaped", "delta", "scale")
    axes.figure.colorbar(mesh, ax=axes, label="$\\delta$ × duration of the plateau")
    axes.set(xlabel="asymmetry $\\delta$", ylabel="scale of the initial weights")


def _surface(axes: Axes, n: xarray.Dataset) -> None:
    """Level lines of the predicted δ × duration, its mean over the seeds that are predicted to escape."""
    predicted = n.predicted.where(np.isfinite(n.predicted)).mean("plateau_seed") * n.plateau_delta
    limits = axes.get_xlim(), axes.get_ylim()
    look: Any = {"colors": "w", "linewidths": 0.8, "linestyles": "--"}
    lines = axes.contour(
        n.plateau_delta, n.plateau_scale, predicted.T, levels=[60, 80, 100, 120, 140], **look
    )
    axes.clabel(lines, fontsize=6, fmt="%d")
    axes.set(xlim=limits[0], ylim=limits[1])  # those of the tiles


def _error(axes: Axes, n: xarray.Dataset) -> None:
    median = n.error.median("weight_error_seed")
    mesh = _tiles(axes, median, x="weight_error_width", y="weight_error_leak", log_x=True)
    _values(axes, median, n.law_median, "{:.3f}\n({:.3f})")
    _bracket(axes, n, "error", "width", "leak")
    axes.figure.colorbar(mesh, ax=axes, label="final weight error, median")
    axes.set(xlabel="width", ylabel="leak")


def _structure(axes: Axes, n: xarray.Dataset) -> None:
    """Distances over γ, with standard errors over seeds: depth by color, target by line."""
    looks = {"linear": ("o", "-"), "odd": ("s", "--"), "even": ("^", ":")}
    depths = n.structure_depth.values
    for color, depth in zip(plots.leak_colors(np.linspace(0, 0.8, len(depths))), depths, strict=True):
        for target, (marker, line) in looks.items():
            if target not in n.structure_target:
                continue
            one = n.distance.sel(structure_depth=depth, structure_target=target)
            mean, count = one.mean("structure_seed"), one.count("structure_seed").clip(1)
            look: Any = {"color": color, "marker": marker, "ls": line, "ms": 3, "capsize": 2, "lw": 0.9}
            error = one.std("structure_seed") / np.sqrt(count)
            axes.errorbar(n.structure_gamma, mean, error, label=f"{depth} layers, {target}", **look)
    plots.level(axes, 0.22, "5 % of $|W|^2$", side="left")
    axes.set(xscale="log", yscale="log", xlabel="initial norm of a layer $\\gamma$")
    _ticks(axes.xaxis, n.structure_gamma)
    axes.set_yticks([0.1, 0.2, 0.4, 0.8], labels=["0.1", "0.2", "0.4", "0.8"], minor=False)
    axes.set_yticks([], minor=True)
    axes.set_ylabel("distance from Conjecture 11 / $|W|$")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.22), ncols=3, fontsize=6, columnspacing=1.0)


def _chance(axes: Axes, n: xarray.Dataset) -> None:
    chance, count = n.learned.mean("chance_seed"), n.learned.count("chance_seed").clip(1)
    mesh = _tiles(axes, 100 * chance, x="chance_scale", y="chance_width", log_x=True, vmin=0, vmax=100)
    _values(axes, 100 * chance, 100 * np.sqrt(chance * (1 - chance) / count), "{:.0f}\n± {:.0f}")
    _bracket(axes, n, "learned", "scale", "width")
    axes.figure.colorbar(mesh, ax=axes, label="share of seeds that learn $g$ (%)")
    axes.set(xlabel="scale of the initial weights", ylabel="width of both hidden layers")


def _tiles(axes: Axes, z: xarray.DataArray, *, x: str, y: str, **look: Any) -> Any:
    logs = {key: look.pop(key, False) for key in ("log_x", "log_y")}
    mesh = plots.phase_diagram(axes, z[x], z[y], z.transpose(y, x), cmap="cividis", **logs, **look)
    _ticks(axes.xaxis, z[x])
    _ticks(axes.yaxis, z[y])
    return mesh


def _ticks(axis: Any, values: xarray.DataArray) -> None:
    """Ticks at the values of the grid, at most six of them."""
    some = values.values[:: -(-values.size // 6)]
    axis.set_ticks(some, labels=[f"{value:.3g}" for value in some])
    axis.set_ticks([], minor=True)


def _values(axes: Axes, z: xarray.DataArray, other: xarray.DataArray, text: str) -> None:
    """Both numbers on every tile, if there are few, in a color that is read on it."""
    from matplotlib.patheffects import withStroke

    if z.size > 40:
        return
    x, y = z.dims
    middle = float(z.min() + z.max()) / 2
    for value, beside in zip(z.stack(tile=z.dims), other.transpose(*z.dims).stack(tile=z.dims), strict=True):
        if np.isfinite(value):
            shade, color = ("w", "k") if value > middle else ("k", "w")
            look: Any = {
                "fontsize": 6,
                "color": color,
                "path_effects": [withStroke(linewidth=1.5, foreground=shade)],
            }
            label = text.format(float(value), float(beside))
            axes.text(float(value[x]), float(value[y]), label, ha="center", va="center", zorder=6, **look)


def _bracket(axes: Axes, n: xarray.Dataset, name: str, x: str, y: str) -> None:
    """The level line: crossings, each with the two points that bracket it."""
    parts = {key: n[f"{name}_line_{key}"].values for key in ("axis", x, y, "low", "high")}
    for axis, along in ((x, "x"), (y, "y")):
        here = parts["axis"] == axis
        if here.any():
            across, up, low, high = (parts[key][here] for key in (x, y, "low", "high"))
            plots.brackets(axes, across, up, low, high, along=along, color="#d55e00", ms=3)
