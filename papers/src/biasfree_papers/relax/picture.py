"""The picture of data that lose their symmetry, from stored numbers."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray

from biasfree import plots
from biasfree.plots import spaced_indices
from biasfree_papers.panels import picture
from biasfree_papers.shared.picture import MARKERS, colors

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ORANGE, _BLUE = "#d55e00", "#0072b2"
_AMOUNT, _TIME = "amount of asymmetry", "rescaled time $ct/\\tau$"


def draw(n: xarray.Dataset) -> Figure:
    """Six panels: loss and gap over time, divergence; the gap as predicted, against the amount; the end."""
    return picture(n, [[_loss, _gap, _divergence], [_predicted, _growth, _final]], height=5.2)


def _looks(n: xarray.Dataset) -> list[dict[str, Any]]:
    """A color and a marker for every amount."""
    shades = zip(colors(n.sizes["amount"]), cycle(MARKERS), strict=False)
    return [{"color": shade, "marker": marker, "mfc": "none"} for shade, marker in shades]


def _some(n: xarray.Dataset) -> list[int]:
    """Four of the amounts, from the least to the largest."""
    return sorted({*np.linspace(0, n.sizes["amount"] - 1, 4).round().astype(int).tolist()})


def _loss(axes: Axes, n: xarray.Dataset) -> None:
    t, twin, some = n.time.values[1:], n.twin_loss[0, 1:], _some(n)
    plots.theory_curve(axes, t, twin, color="k", label="linear twin")
    for turn, i in enumerate(some):
        loss = n.loss.values[i, 0, 1:]
        chosen = spaced_indices(np.log(t), loss, shown=16, shift=turn / len(some))
        axes.plot(t[chosen], loss[chosen], ls="none", **_looks(n)[i])
    best, first = float(n.least_squares), float(n.twin_loss[0, 0])
    axes.set(xscale="log", xlabel=_TIME, ylabel="loss")
    axes.set_ylim(best - 0.15 * (first - best), first + 0.05 * (first - best))
    axes.legend(loc="lower left")


def _gap(axes: Axes, n: xarray.Dataset) -> None:
    t, looks = n.time.values[1:], _looks(n)
    middle = n.gap.median("seed").values[:, 1:].clip(min=1e-17)
    for i in _some(n):
        marked = spaced_indices(np.log(t), np.log(middle[i]), shown=8, shift=0.0).tolist()
        axes.plot(t, middle[i], lw=1.0, markevery=marked, label=f"{float(n.amount[i]):g}", **looks[i])
    axes.axvline(float(n.time[int(n.settled)]), ymin=0.78, color="0.5", lw=0.8, ls=":")
    axes.set(xscale="log", yscale="log", xlabel=_TIME, ylabel="gap of outputs / output", ylim=(1e-17, 30))
    axes.set_yticks([1e-15, 1e-10, 1e-5, 1])
    axes.legend(loc="center right", title="amount", title_fontsize=7)


def _divergence(axes: Axes, n: xarray.Dataset) -> None:
    last = float(n.time[-1])
    never = 2.2 * last
    looks = (("o", _BLUE, "weights", 0.94), ("v", _ORANGE, "loss", 1.06))
    for i, (marker, color, label, aside) in enumerate(looks):
        times = n.diverged.isel(measure=i).clip(max=never)
        labels = [label] + ["_"] * (n.sizes["seed"] - 1)
        axes.plot(aside * _places(n), times, marker, mfc="none", color=color, label=labels)
    axes.axhline(1.4 * last, color="0.5", lw=0.8, ls=":")
    _amount_axis(axes, n)
    axes.set(yscale="log", ylabel="time of divergence $ct/\\tau$ (5 %)")
    axes.set_yticks([1, 10, 100, never], ["1", "10", "100", "never"])
    axes.legend(loc="lower left")


def _predicted(axes: Axes, n: xarray.Dataset) -> None:
    settled, ratios = n.gap.isel(time=int(n.settled)), n.halves
    for i, look in enumerate(_looks(n)):
        label = f"{float(n.amount[i]):g}" if ratios[i].max() > 1e-9 else None
        axes.plot(100 * ratios[i], 100 * settled[i], ls="none", label=label, **look)
    ends = 100 * np.array([0.7 * ratios.values[ratios.values > 1e-9].min(initial=1.0), 0.2])
    plots.theory_curve(axes, ends, ends, color="0.3", lw=0.9, label="equal")
    axes.set(xscale="log", yscale="log", xlim=ends, ylim=ends)
    axes.set(xlabel="gap predicted from halves (%)", ylabel="gap when settled (%)")
    axes.legend(loc="lower right", title="amount", title_fontsize=7, labelspacing=0.2, handlelength=1)


def _growth(axes: Axes, n: xarray.Dataset) -> None:
    broken = n.isel(amount=(n.amount > 0).values)
    quantities = (
        ("s", "0.3", "symmetry defect", broken.defect),
        ("o", _BLUE, "gap when settled", broken.gap.isel(time=int(n.settled))),
        ("v", _ORANGE, "gap at the end", broken.gap.isel(time=-1)),
    )
    for marker, color, label, values in quantities:
        low, middle, high = (100 * values).quantile([0.25, 0.5, 0.75], "seed").values
        look: Any = {"mfc": "none", "color": color, "elinewidth": 0.7, "label": label}
        axes.errorbar(broken.amount, middle, [middle - low, high - middle], fmt=marker, **look)
    last = 100 * float(n.defect[-1].median())
    root = last * np.sqrt(broken.amount / float(n.amount[-1]))
    label = "$\\propto$ amount$^{1/2}$"
    plots.theory_curve(axes, broken.amount, root, color="0.3", lw=0.9, ls="--", label=label)
    axes.set(xscale="log", yscale="log", xlabel=_AMOUNT, ylabel="defect and gap (%)")
    axes.legend(loc="lower right")


def _final(axes: Axes, n: xarray.Dataset) -> None:
    ratio = n.loss.isel(time=-1) / n.least_squares
    labels = ["ReLU, every seed"] + ["_"] * (n.sizes["seed"] - 1)
    axes.plot(_places(n), ratio, "o", mfc="none", color=_BLUE, label=labels)
    plots.level(axes, 1.0, "linear twin, least squares", ls="-", color="k")
    _amount_axis(axes, n)
    axes.set(ylabel="final loss / least squares", ylim=(None, 1 + 0.2 * (1 - float(ratio.min())) + 1e-3))
    axes.legend(loc="lower left")


def _places(n: xarray.Dataset) -> np.ndarray:
    """Where the amounts are on a logarithmic axis, with 0 one step left of the others."""
    amounts = n.amount.values
    return np.where(amounts > 0, amounts, amounts[amounts > 0].min(initial=1.0) / 3)


def _amount_axis(axes: Axes, n: xarray.Dataset) -> None:
    at = _places(n)
    axes.set(xscale="log", xlabel=_AMOUNT, xlim=(at[0] / 1.6, 1.6 * at[-1]))
    shown = [i for i in range(len(at)) if i == 0 or np.isclose(np.log10(at[i]) % 1, 0)]
    axes.set_xticks(at[shown], [f"{float(n.amount[i]):g}" for i in shown])
    axes.minorticks_off()
