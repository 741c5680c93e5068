"""The picture of the lazy experiment, from stored numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import xarray

from biasfree import plots
from biasfree_papers.lazy.compute import WITHIN
from biasfree_papers.panels import Row, picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLORS = ("#0072b2", "#009e73", "#d55e00", "#cc79a7")
_SCALE_COLORS = ("#e69f00", "#56b4e9", "#000000")
_SIX_COLORS = ("#0072b2", "#cc79a7", "#e69f00")
#: The range of errors that is drawn; smaller ones are drawn at its lower end.
_LEAST, _MOST = 1e-7, 5.0


def draw(n: xarray.Dataset) -> Figure:
    """Losses and errors above; movements, the six points and exponents below."""
    above = Row([_losses, _pairs, _independent], legend="below", height=1.15)
    below = Row([_movements, _six, _exponents], widths=[1, 1, 1.25])
    return picture(n, [above, below], height=5.6)


def _losses(axes: Axes, n: xarray.Dataset) -> None:
    for color, scale in zip(_SCALE_COLORS, n.shown_scale.values, strict=False):
        one = n.sel(shown_scale=scale).isel(time=slice(1, None))
        plots.theory_curve(axes, one.time, one.lazy_loss, color=color)
        plots.theory_curve(axes, one.time, one.rich_loss, color=color, ls="--")
        plots.simulated_points(axes, one.time, one.simulated_loss, color=color, ms=3, shown=20)
        axes.plot([], [], color=color, lw=3, label=f"scale {scale:g} (a)")
    for label, look in (("linearized", "-"), ("closed form of small weights", "--"), ("simulated (a)", "o")):
        axes.plot([], [], look, color="0.4", mfc="none", ms=3, label=label)
    axes.set(xscale="log", xlabel="time $t/\\tau$", ylim=(-0.05, 1.1))
    axes.set_ylabel("excess loss / initial excess loss")


def _pairs(axes: Axes, n: xarray.Dataset) -> None:
    _errors(axes, n, "pairs")
    axes.set_title("pairs, $f = 0$ at $t = 0$", fontsize=7, loc="right")


def _independent(axes: Axes, n: xarray.Dataset) -> None:
    _errors(axes, n, "independent")
    axes.set_title("independent weights", fontsize=7, loc="right")


def _errors(axes: Axes, n: xarray.Dataset, kind: str) -> None:
    for color, width in zip(_COLORS, n.width.values, strict=False):
        one = n.sel(kind=kind, width=width)
        _seeds(axes, n.scale, one.lazy_error, "o", "-", color)
        _seeds(axes, n.scale, one.rich_error, "s", "--", color)
        axes.plot([], [], color=color, lw=3, label=f"width {width} (b, c)")
    _error_axes(axes, "left")


def _six(axes: Axes, n: xarray.Dataset) -> None:
    for color, width in zip(_SIX_COLORS, n.six_width.values, strict=False):
        one = n.sel(six_width=width)
        _seeds(axes, n.six_scale, one.six_lazy_error, "o", "-", color)
        _seeds(axes, n.six_scale, one.six_rich_error, "s", "--", color)
        _seeds(axes, n.six_scale, one.six_fall_error, "^", "", color)
        axes.plot([], [], color=color, lw=3, label=f"width {width}")
    _error_axes(axes, "right")
    axes.plot([], [], "^", color="0.4", mfc="none", ms=3, label="before the escape")
    axes.set_title(f"six points, $\\delta$ = {float(n.delta):g}", fontsize=7, loc="right")
    axes.legend(fontsize=6, loc="lower left")


def _seeds(
    axes: Axes, x: xarray.DataArray, values: xarray.DataArray, marker: str, line: str, color: str
) -> None:
    """One open marker per seed, and a line through the medians."""
    shown = values.transpose(..., "seed").clip(_LEAST)
    axes.plot(x, shown, ls="none", marker=marker, mfc="none", color=color, ms=3, mew=0.6)
    if line:
        axes.plot(x, shown.median("seed"), ls=line, color=color, lw=0.9)


def _error_axes(axes: Axes, side: str) -> None:
    plots.level(axes, WITHIN, "1 %", side=side)
    axes.set(
        xscale="log", yscale="log", ylim=(_LEAST / 2, _MOST), xlabel="scale $\\gamma$ of the initial weights"
    )
    axes.set_ylabel("error of the loss / initial loss")


def _movements(axes: Axes, n: xarray.Dataset) -> None:
    names = {"pairs": ("o", "-", _COLORS[0]), "independent": ("s", "--", _COLORS[2])}
    for kind, (marker, line, color) in names.items():
        one = n.sel(kind=kind).isel(width=-1)
        axes.plot(n.scale, one.movement, ls="none", marker=marker, mfc="none", color=color, ms=3, mew=0.6)
        axes.plot(n.scale, one.longest_path.median("seed"), ls=line, color=color, label=f"bound, {kind}")
        axes.plot([], [], ls="none", marker=marker, mfc="none", color=color, ms=3, label=f"moved, {kind}")
    axes.set(xscale="log", yscale="log", xlabel="scale $\\gamma$ of the initial weights")
    axes.set_ylabel("movement $|\\theta-\\theta_0|/|\\theta_0|$")
    axes.set_title(f"width {int(n.width[-1])}", fontsize=7, loc="right")
    axes.legend(fontsize=6)


def _exponents(axes: Axes, n: xarray.Dataset) -> None:
    most = float(np.abs(n.exponent).clip(0, 2).max())
    look: Any = {"cmap": "RdBu_r", "vmin": -most, "vmax": most}
    mesh = plots.phase_diagram(axes, n["size"], n.ratio, n.exponent.transpose("ratio", "size"), **look)
    for point in n.exponent.stack(point=("size", "ratio")):
        color = "w" if abs(float(point)) > 0.6 * most else "k"
        shown = f"{float(point):.1f}".replace("-", "−")
        place: Any = {"xytext": (-7, 7), "textcoords": "offset points", "ha": "center", "va": "center"}
        axes.annotate(shown, (float(point["size"]), float(point.ratio)), fontsize=5.5, color=color, **place)
    limits = axes.get_xlim(), axes.get_ylim()
    far = limits[0][1]
    axes.plot([1, 1, far], [limits[1][0], 0, far - 1], color="k", lw=1.5)
    _crossings(axes, n)
    axes.set(xlim=limits[0], ylim=limits[1], xlabel="$\\gamma$, $\\sigma_a\\sigma_w = H^{-\\gamma}$")
    axes.set_ylabel("$\\gamma'$, $\\sigma_a/\\sigma_w = H^{-\\gamma'}$")
    axes.set_title("black: Luo et al. 2021 [rebuilt]", fontsize=7, loc="right")
    axes.figure.colorbar(mesh, ax=axes, label="exponent of $|\\Delta W_1|/|W_1|$ in $H$", extend="min")


def _crossings(axes: Axes, n: xarray.Dataset) -> None:
    """Where the measured exponent is zero, each crossing with its bracket."""
    parts = {key: n[f"exponent_line_{key}"].values for key in ("axis", "size", "ratio", "low", "high")}
    for axis, along in (("size", "x"), ("ratio", "y")):
        here = parts["axis"] == axis
        if here.any():
            places = (parts[key][here] for key in ("size", "ratio", "low", "high"))
            plots.brackets(axes, *places, along=along, color="#e69f00", ms=4)
