"""The picture of Fig. 3, from stored numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import xarray

from biasfree import plots
from biasfree_papers.panels import Axes, Figure, Row, picture
from biasfree_papers.shared.picture import MARKERS

if TYPE_CHECKING:
    from matplotlib.axis import Axis

_DASHED = (0, (2, 1.5))
_BLUE, _RED = "#2166ac", "#b2182b"


def draw(n: xarray.Dataset) -> Figure:
    """Six panels: losses, on time and rescaled time, weight errors; their prediction, law; logistic loss."""
    return picture(n, [[_loss, _collapse, _error], Row([_predicted, _law, _rescaled])], height=4.6)


def _leaks(n: xarray.Dataset, objective: str) -> Any:
    """For every leak that was trained with this loss: the numbers of its runs, and its color."""
    own = n.sel(objective=objective).dropna("leak", subset=["accuracy"])
    return [(one.squeeze("leak"), plots.leak_colors([leak])[0]) for leak, one in own.groupby("leak")]


def _loss(axes: Axes, n: xarray.Dataset) -> None:
    for one, color in _leaks(n, "square"):
        own = one.rescaled * 2 / (1 + one.leak)
        plots.theory_curve(axes, own, one.loss.sel(kind="reduced"), color=color)
        plots.theory_curve(axes, own, one.loss.sel(kind="white"), color=color, ls=_DASHED, lw=0.8)
        plots.simulated_points(axes, own, one.loss.sel(kind="simulated"), shown=18, ms=2.8, color=color)
        axes.plot([], [], color=color, lw=2, label=f"$\\alpha$ = {float(one.leak):g}")
    end = 2.4 * float(n.rescaled.sel(objective="square")[-1])
    axes.set(xlabel="time $t/\\tau$", ylabel="loss", ylim=(0, None), xlim=(0, end))
    axes.add_artist(axes.legend(loc="upper right", handlelength=1.2, labelspacing=0.25))
    kinds: Any = {"simulated": {"ls": "none", "marker": "o", "mfc": "none"}, "reduced flow": {}}
    kinds["Eq. 38"] = {"ls": _DASHED, "lw": 0.8}
    handles = [axes.plot([], [], color="0.3", **look)[0] for look in kinds.values()]
    axes.legend(
        handles, kinds, loc="center right", bbox_to_anchor=(1, 0.38), handlelength=1.6, labelspacing=0.25
    )


def _collapse(axes: Axes, n: xarray.Dataset) -> None:
    _rescaled(axes, n, "square")
    plots.level(axes, float(n.least_squares), "least squares")


def _rescaled(axes: Axes, n: xarray.Dataset, objective: str = "logistic") -> None:
    """Losses of all leaks on rescaled time, and the reduced flow of ReLU."""
    leaks = _leaks(n, objective)
    relu = leaks[0][0]
    plots.theory_curve(axes, relu.rescaled, relu.loss.sel(kind="reduced"), color="0.3", label="reduced flow")
    for i, (one, color) in enumerate(leaks):
        look: Any = {"shown": 12, "shift": i / len(leaks), "color": color, "marker": MARKERS[i]}
        look["label"] = f"$\\alpha$ = {float(one.leak):g}" if objective == "logistic" else None
        plots.simulated_points(axes, one.rescaled, one.loss.sel(kind="simulated"), ms=2.8, **look)
    axes.set(xlabel="rescaled time $ct/\\tau$", ylabel="loss" if objective == "square" else "logistic loss")
    axes.set(xlim=(0, float(relu.rescaled[-1])), ylim=(0, None))
    axes.legend(loc="upper right" if objective == "square" else "lower left", handlelength=1.2)


def _error(axes: Axes, n: xarray.Dataset) -> None:
    for one, color in _leaks(n, "square"):
        if one.leak < 1:
            plots.simulated_points(axes, one.rescaled, 100 * one.weight_error, ms=2.8, color=color)
    predicted = 100 * float(n.final_predicted[0])
    plots.level(axes, predicted, "predicted, $t\\to\\infty$", ls="-", color="0.3")
    axes.set(xlabel="rescaled time $ct/\\tau$", ylabel="weight error (%)", ylim=(0, 1.3 * predicted))
    axes.set_xlim(0, float(n.rescaled.sel(objective="square")[-1]))


def _predicted(axes: Axes, n: xarray.Dataset) -> None:
    """Predicted and simulated errors, seed by seed."""
    looks = zip(n.small_width, ("#92c5de", "#4393c3", _BLUE, "#053061"), "^sDv", strict=False)
    for width, color, marker in looks:
        look: dict[str, Any] = {"ms": 2.2, "mew": 0.5, "mfc": "none", "color": color}
        one = 100 * n.sel(small_width=width)
        axes.plot(one.small_predicted, one.small_measured, marker, label=f"width {int(width)}", **look)
    full = f"width {int(n.neurons)}"
    axes.plot(100 * n.final_predicted, 100 * n.final_measured, "o", mfc="none", color=_RED, label=full)
    ends = 0.1, 100
    axes.plot(ends, ends, color="0.3", lw=0.8, zorder=0)
    axes.set(xlim=ends, ylim=ends, xscale="log", yscale="log")
    axes.set(xlabel="final weight error, predicted (%)", ylabel="simulated (%)")
    _percent(axes.xaxis, ends)
    _percent(axes.yaxis, ends)
    axes.legend(loc="upper left", handlelength=1)


def _law(axes: Axes, n: xarray.Dataset) -> None:
    """The law of the error at the figure's width, and the seeds that the paper's bounds hold for."""
    errors = np.sort(100 * n.many_predicted)
    plots.theory_curve(axes, 100 * n.law_error, n.law_share, color="0.3", label="law")
    steps = np.arange(1, len(errors) + 1) / len(errors)
    axes.plot(errors, steps, ".", ms=2, mew=0, color=_BLUE, label=f"{len(errors)} predicted")
    final = np.sort(100 * n.final_measured)
    place = np.searchsorted(errors, final) / len(errors)
    axes.plot(final, place, "o", mfc="none", color=_RED, label=f"{len(final)} simulated")
    for bound, text in ((1.0, "1 % (v1)"), (0.3, "0.3 % (TMLR)")):
        axes.axvline(bound, color="0.5", lw=0.8, ls=":")
        axes.annotate(text, (bound, 1.0), rotation=90, ha="right", va="top", fontsize=7, color="0.3")
    ends = 0.1, 100 * float(n.law_error[-1])
    axes.set(xscale="log", xlim=ends, ylim=(0, 1.02), ylabel="share of seeds below")
    axes.set_xlabel(f"final weight error, width {int(n.neurons)} (%)")
    _percent(axes.xaxis, ends)
    axes.legend(loc="lower right", handlelength=0.8, labelspacing=0.2, bbox_to_anchor=(1.05, -0.03))


def _percent(axis: Axis, ends: tuple[float, float]) -> None:
    """Ticks in whole words on a logarithmic axis."""
    axis.set_ticks([tick for tick in (0.1, 0.3, 1, 3, 10, 30, 100) if ends[0] <= tick <= ends[1]])
    axis.set_ticks([], minor=True)
    axis.set_major_formatter(lambda value, _: f"{value:g}")
