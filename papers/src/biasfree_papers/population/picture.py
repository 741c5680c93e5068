"""The picture of infinite data, from stored numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import xarray

from biasfree import plots
from biasfree_papers.panels import picture
from biasfree_papers.population.compute import LEVEL

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_EXACT, _SAMPLED = "#0072b2", "#d55e00"
_LEAST = 1e-16


def draw(n: xarray.Dataset) -> Figure:
    """The closed form above; the distance of samples in the middle; teachers below."""
    return picture(n, [[_loss, _gap], [_distance, _diagram], [_teaching, _overlap]], height=7.6)


def _loss(axes: Axes, n: xarray.Dataset) -> None:
    for name, color, marker, shift in (("infinite", _EXACT, "o", 0.0), ("samples", _SAMPLED, "s", 0.5)):
        label = "infinite data" if name == "infinite" else "samples"
        plots.theory_curve(axes, n.course, n[f"{name}_closed"], color=color, label=f"closed form, {label}")
        look = {"color": color, "marker": marker, "ms": 4, "label": f"simulated, {label}"}
        plots.simulated_points(axes, n.course, n[f"{name}_loss"], shown=16, shift=shift, **look)
    axes.set(xlabel="time $t/\\tau$", ylabel="loss $L$", ylim=(0, None))
    axes.legend()


def _gap(axes: Axes, n: xarray.Dataset) -> None:
    for name, color in (("infinite", _EXACT), ("samples", _SAMPLED)):
        axes.plot(n.course, n[f"{name}_gap"].clip(_LEAST), color=color)
        text = "infinite data" if name == "infinite" else "samples: not white"
        at = 0.12 if name == "infinite" else 0.72
        axes.text(0.03, at, text, color=color, transform=axes.transAxes)
    axes.axhline(1e-8, color="0.5", ls=":", lw=0.8)
    axes.set(yscale="log", ylim=(_LEAST, 1), xlabel="time $t/\\tau$", ylabel="error of the closed form")


def _distance(axes: Axes, n: xarray.Dataset) -> None:
    """Rms over seeds as markers, the law as lines."""
    colors = plots.leak_colors(np.linspace(0, 0.9, n.sizes["samples"]))
    for color, samples in zip(colors, n.samples.values, strict=True):
        axes.plot(n.fine, np.sqrt(n.law_of_one / samples), color=color, lw=1)
        found = np.sqrt(n.square.sel(samples=samples).mean("seed"))
        axes.plot(n.time, found, "o", mfc="none", ms=3, color=color, label=f"$P$ = {samples}")
    axes.axvline(float(n.transition), color="0.5", ls=":", lw=0.8)
    axes.set(yscale="log", ylim=(1e-4, 3), xlabel="time $t/\\tau$", ylabel="distance / final map")
    axes.legend(ncols=2, fontsize=6)


def _diagram(axes: Axes, n: xarray.Dataset) -> None:
    """The measured rms as tiles, its line with brackets, and the line of the law."""
    found = np.sqrt(n.square.mean("seed"))
    mesh = plots.phase_diagram(
        axes, n.time, n.samples, np.log10(found.transpose("samples", "time")), log_y=True, vmin=-3, vmax=0
    )
    axes.figure.colorbar(mesh, ax=axes, label="log$_{10}$ distance / final map")
    limits = axes.get_xlim(), axes.get_ylim()
    axes.plot(n.fine, n.law_of_one / LEVEL**2, color="w", ls="--", lw=1)
    for axis, along in (("time", "x"), ("samples", "y")):
        here = n.line_axis.values == axis
        if here.any():
            parts = (n[f"line_{key}"].values[here] for key in ("time", "samples", "low", "high"))
            plots.brackets(axes, *parts, along=along, color=_SAMPLED, ms=3)
    axes.set(xlim=limits[0], ylim=limits[1], xlabel="time $t/\\tau$", ylabel="samples $P$")
    axes.set_yticks(n.samples.values, labels=[str(samples) for samples in n.samples.values])
    axes.set_yticks([], minor=True)


def _teaching(axes: Axes, n: xarray.Dataset) -> None:
    for i, one in enumerate(n.sampled_loss):
        label = "samples" if i == 0 else None
        axes.plot(n.sampled_teaching, one, color=_SAMPLED, lw=0.6, alpha=0.7, label=label)
    axes.plot(n.teaching, n.exact_loss, color=_EXACT, lw=1.5, label="infinite data")
    plots.level(axes, 2 * float(n.level), "all neurons parallel")
    axes.set(yscale="log", ylim=(1e-4, 1), xlabel="time $t/\\tau$", ylabel="loss on infinite data")
    axes.set_title(f"scale {float(n.shown_scale):g}", fontsize=7, loc="right")
    axes.legend(loc="lower left")


def _overlap(axes: Axes, n: xarray.Dataset) -> None:
    """Of every neuron with the first teacher."""
    for one in n.sampled_overlap.isel(teacher=0):
        axes.plot(n.sampled_teaching, one, color=_SAMPLED, lw=0.4, alpha=0.5)
    axes.plot(n.teaching, n.exact_overlap.isel(teacher=0), color=_EXACT, lw=1.5)
    plots.level(axes, 1 / np.sqrt(n.sizes["teacher"]), "the sum of teachers", side="right")
    axes.set(ylim=(-1.05, 1.05), xlabel="time $t/\\tau$", ylabel="overlap with teacher 1")
