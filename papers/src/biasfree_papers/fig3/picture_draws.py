"""The panels of Fig. 3 on the final weight error over seeds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from biasfree import plots
from biasfree_papers.types import Numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

_BLUE, _RED = "#2166ac", "#b2182b"


def draws(axes: Axes, numbers: Numbers) -> None:
    """Predicted and simulated errors, draw by draw."""
    looks = zip(numbers["small_widths"], ("#92c5de", "#4393c3", _BLUE, "#053061"), "^sDv", strict=False)
    for i, (width, color, marker) in enumerate(looks):
        x, y = 100 * numbers["small_predicted"][i], 100 * numbers["small_measured"][i]
        look = {"ms": 2.2, "mew": 0.5, "mfc": "none", "color": color}
        axes.plot(x, y, marker, label=f"width {width}", **look)
    predicted, measured = 100 * numbers["final_predicted"], 100 * numbers["final_measured"]
    axes.plot(predicted, measured, "o", mfc="none", color=_RED, label=f"width {int(numbers['width'])}")
    ends = 0.1, 100
    axes.plot(ends, ends, color="0.3", lw=0.8, zorder=0)
    axes.set(xlim=ends, ylim=ends, xscale="log", yscale="log")
    axes.set(xlabel="final weight error, predicted (%)", ylabel="simulated (%)")
    _percent(axes.xaxis, ends)
    _percent(axes.yaxis, ends)
    axes.legend(loc="upper left", handlelength=1, fontsize=6.5, bbox_to_anchor=(-0.02, 1.05))


def shares(axes: Axes, numbers: Numbers) -> None:
    """The law of the error at the figure's width, and the draws that the paper's bounds hold for."""
    errors = np.sort(100 * numbers["many_predicted"])
    plots.theory_curve(axes, 100 * numbers["law_errors"], numbers["law_shares"], color="0.3", label="law")
    steps = np.arange(1, len(errors) + 1) / len(errors)
    axes.plot(errors, steps, ".", ms=2, mew=0, color=_BLUE, label=f"{len(errors)} draws")
    final = np.sort(100 * numbers["final_measured"])
    place = np.searchsorted(errors, final) / len(errors)
    axes.plot(final, place, "o", mfc="none", color=_RED, label=f"{len(final)} simulated")
    for bound, text in ((1.0, "1 % (v1)"), (0.3, "0.3 % (TMLR)")):
        axes.axvline(bound, color="0.5", lw=0.8, ls=":")
        axes.annotate(text, (bound, 1.0), rotation=90, ha="right", va="top", fontsize=6.5, color="0.3")
    ends = 0.1, 100 * float(numbers["law_errors"][-1])
    axes.set(xscale="log", xlim=ends, ylim=(0, 1.02), ylabel="share of draws below")
    axes.set_xlabel(f"final error, width {int(numbers['width'])} (%)")
    _percent(axes.xaxis, ends)
    axes.legend(loc="lower right", handlelength=0.8, fontsize=6.5, bbox_to_anchor=(1.0, -0.04))


def against_width(axes: Axes, numbers: Numbers) -> None:
    """Medians over draws against the width, and the law's."""
    widths = numbers["widths"]
    plots.theory_curve(axes, widths, 100 * numbers["law_medians"], color="0.3", label="median of the law")
    guide = 100 * numbers["law_medians"][-1] * np.sqrt(widths[-1] / widths)
    axes.plot(widths, 1.8 * guide, color="0.5", lw=0.8, ls=":", label="$\\propto H^{-1/2}$")
    axes.plot(widths, 100 * numbers["medians"], ".", color=_BLUE, label="predicted draws")
    small = 100 * np.median(numbers["small_measured"], axis=1)
    axes.plot(
        numbers["small_widths"], small, "^", mfc="none", ms=5, color=_BLUE, label="simulated, small task"
    )
    final = 100 * np.median(numbers["final_measured"])
    axes.plot(int(numbers["width"]), final, "o", mfc="none", color=_RED, label="simulated, full size")
    axes.set(xscale="log", yscale="log", xlabel="width $H$", ylabel="median final weight error (%)")
    low, high = axes.get_ylim()
    axes.set_ylim(low / 6, high)
    _percent(axes.yaxis, (low / 6, high))
    axes.legend(loc="lower left", fontsize=6.5, bbox_to_anchor=(-0.02, -0.03))


def _percent(axis: Axis, ends: tuple[float, float]) -> None:
    """Ticks in whole words on a logarithmic axis."""
    axis.set_ticks([tick for tick in (0.1, 0.3, 1, 3, 10, 30, 100) if ends[0] <= tick <= ends[1]])
    axis.set_ticks([], minor=True)
    axis.set_major_formatter(lambda value, _: f"{value:g}")
