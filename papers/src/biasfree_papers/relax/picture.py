"""The picture of data that lose their symmetry, from stored numbers."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np

from biasfree import plots
from biasfree.plots import spaced_indices
from biasfree_papers.shared.picture import MARKERS, colors, fill
from biasfree_papers.types import Numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ORANGE, _BLUE = "#d55e00", "#0072b2"
_AMOUNT, _ROOT = "amount of asymmetry", "$\\propto$ amount$^{1/2}$"


def draw(numbers: Numbers) -> Figure:
    """Six panels: loss and gap over time, parting; the gap as predicted, against the amount; the end."""
    from matplotlib.figure import Figure

    with plots.style():
        figure = Figure(figsize=(plots.WIDTH, 4.6), layout="constrained")
        parts = (_loss, _gap, _parting, _predicted, _growth, _final)
        fill(figure.subplots(2, 3).flat, parts, numbers)
    return figure


def _looks(numbers: Numbers) -> list[dict[str, Any]]:
    """A color and a marker for every amount."""
    shades = colors(len(numbers["amounts"]))
    return [
        {"color": shade, "marker": marker, "mfc": "none"}
        for shade, marker in zip(shades, cycle(MARKERS), strict=False)
    ]


def _some(numbers: Numbers) -> list[int]:
    """Four of the amounts, from the least to the largest."""
    return sorted({*np.linspace(0, len(numbers["amounts"]) - 1, 4).round().astype(int).tolist()})


def _loss(axes: Axes, numbers: Numbers) -> None:
    t = numbers["rescaled"]
    plots.theory_curve(axes, t[1:], numbers["twin_loss"][0, 1:], color="k", label="linear twin")
    looks, some = _looks(numbers), _some(numbers)
    for turn, i in enumerate(some):
        points = np.log(t[1:]), numbers["loss"][i, 0, 1:]
        chosen = spaced_indices(*points, shown=16, shift=turn / len(some))
        axes.plot(t[1:][chosen], points[1][chosen], ls="none", ms=3.5, **looks[i])
    axes.set(xscale="log", xlabel="rescaled time $ct/\\tau$", ylabel="loss")
    best, first = float(numbers["least_squares"]), float(numbers["twin_loss"][0, 0])
    axes.set_ylim(best - 0.15 * (first - best), first + 0.05 * (first - best))
    axes.legend(loc="lower left")


def _gap(axes: Axes, numbers: Numbers) -> None:
    t = numbers["rescaled"]
    looks = _looks(numbers)
    for i in _some(numbers):
        middle = np.maximum(np.median(numbers["gap"][i], axis=0), 1e-17)[1:]
        marked = spaced_indices(np.log(t[1:]), np.log(middle), shown=8, shift=0.0).tolist()
        label = f"{numbers['amounts'][i]:g}"
        axes.plot(t[1:], middle, lw=1.0, ms=3.5, markevery=marked, label=label, **looks[i])
    axes.axvline(t[int(numbers["settled"])], ymin=0.78, color="0.5", lw=0.8, ls=":")
    axes.set(xscale="log", yscale="log", xlabel="rescaled time $ct/\\tau$", ylim=(1e-17, 30))
    axes.set_ylabel("gap $\\langle(f-f_{lin})^2\\rangle^{1/2}/\\langle f_{ols}^2\\rangle^{1/2}$", fontsize=7)
    axes.set_yticks([1e-15, 1e-10, 1e-5, 1])
    axes.legend(loc="center right", title="amount", title_fontsize=7)


def _parting(axes: Axes, numbers: Numbers) -> None:
    looks = (("o", _BLUE, "weights"), ("v", _ORANGE, "loss"))
    never = 2.2 * numbers["rescaled"][-1]
    for kind, (marker, color, label) in enumerate(looks):
        times = numbers["parted"][:, :, kind]
        at = np.repeat(_places(numbers), times.shape[1]) * (1.06 if kind else 0.94)
        axes.plot(
            at, np.minimum(times.ravel(), never), ls="none", marker=marker, mfc="none", color=color,
            ms=3, mew=0.7, label=label,
        )  # fmt: skip
    axes.axhline(1.4 * numbers["rescaled"][-1], color="0.5", lw=0.8, ls=":")
    _amount_axis(axes, numbers)
    axes.set(yscale="log", ylabel="parting time $ct/\\tau$ (5 %)")
    axes.set_yticks([1, 10, 100, never], ["1", "10", "100", "never"])
    axes.legend(loc="lower left")


def _predicted(axes: Axes, numbers: Numbers) -> None:
    settled = numbers["gap"][:, :, int(numbers["settled"])]
    for i, look in enumerate(_looks(numbers)):
        label = f"{numbers['amounts'][i]:g}" if numbers["halves"][i].max() > 1e-9 else None
        axes.plot(100 * numbers["halves"][i], 100 * settled[i], ls="none", ms=3.5, label=label, **look)
    ends = 100 * np.array([0.7 * numbers["halves"][numbers["halves"] > 1e-9].min(initial=1.0), 0.2])
    plots.theory_curve(axes, ends, ends, color="0.3", lw=0.9, label="equal")
    axes.set(xscale="log", yscale="log", xlim=ends, ylim=ends)
    axes.set(xlabel="gap predicted from halves (%)", ylabel="gap when settled (%)")
    axes.legend(loc="lower right", title="amount", title_fontsize=7, labelspacing=0.2, handlelength=1)


def _growth(axes: Axes, numbers: Numbers) -> None:
    at, settled = _places(numbers), numbers["gap"][:, :, int(numbers["settled"])]
    shown = numbers["amounts"] > 0
    quantities = (
        ("s", "0.3", "symmetry defect", numbers["defect"]),
        ("o", _BLUE, "gap when settled", settled),
        ("v", _ORANGE, "gap at the end", numbers["gap"][:, :, -1]),
    )
    for marker, color, label, values in quantities:
        low, middle, high = np.quantile(100 * values, [0.25, 0.5, 0.75], axis=1)[:, shown]
        bars = np.array([middle - low, high - middle])
        axes.errorbar(
            at[shown], middle, bars, fmt=marker, mfc="none", color=color, elinewidth=0.7, label=label
        )
    last = 100 * np.median(numbers["defect"][-1])
    plots.theory_curve(
        axes, at[shown], last * np.sqrt(at[shown] / at[-1]), color="0.3", lw=0.9, ls="--", label=_ROOT
    )
    axes.set(xscale="log", yscale="log", xlabel=_AMOUNT, ylabel="defect and gap (%)")
    axes.legend(loc="lower right")


def _final(axes: Axes, numbers: Numbers) -> None:
    ratio = numbers["loss"][:, :, -1] / numbers["least_squares"]
    at = np.repeat(_places(numbers), ratio.shape[1])
    axes.plot(at, ratio.ravel(), "o", mfc="none", color=_BLUE, ms=3, mew=0.7, label="ReLU, one draw")
    plots.level(axes, 1.0, "linear twin, least squares", ls="-", color="k")
    _amount_axis(axes, numbers)
    axes.set(ylabel="final loss / least squares", ylim=(None, 1 + 0.2 * (1 - ratio.min()) + 1e-3))
    axes.legend(loc="lower left")


def _places(numbers: Numbers) -> np.ndarray:
    """Where the amounts are on a logarithmic axis, with 0 one step left of the others."""
    amounts = numbers["amounts"]
    least = amounts[amounts > 0].min(initial=1.0)
    return np.where(amounts > 0, amounts, least / 3)


def _amount_axis(axes: Axes, numbers: Numbers) -> None:
    at = _places(numbers)
    axes.set(xscale="log", xlabel=_AMOUNT, xlim=(at[0] / 1.6, 1.6 * at[-1]))
    shown = [i for i in range(len(at)) if i == 0 or np.isclose(np.log10(at[i]) % 1, 0)]
    axes.set_xticks(at[shown], [f"{numbers['amounts'][i]:g}" for i in shown])
    axes.minorticks_off()
