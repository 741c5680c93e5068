"""The lower row of the picture: norms of a dozen samples, the five points, the teacher."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from biasfree_papers.shared.picture import colors
from biasfree_papers.types import Numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_KINDS = ((True, "o", "C0", "covered"), (False, "s", "C1", "not covered"))
_OFF = 5.5  # how far beyond the axis of γ, in decades, the columns stand that are not on it
_APART = 1.5  # to either side of its column a draw may stand


def norms(axes: Axes, numbers: Numbers) -> None:
    """Excess of ½|θ|² over the shortest interpolator's: followed over γ, and columns of all draws."""
    decades, covers = np.log10(numbers["scales"]), numbers["many_covers"]
    ratio, limit = (numbers[f"many_{name}"] / numbers["many_minimum"] - 1 for name in ("norm", "limit"))
    scan = numbers["many_scan_norm"] / numbers["many_scan_minimum"] - 1
    left, right = decades.min() - _OFF, decades.max() + _OFF
    for kind, marker, color, name in _KINDS:
        own, followed = covers == kind, scan[:, numbers["many_scan_covers"][0] == kind]
        look: Any = {"marker": marker, "mfc": "none", "color": color, "ms": 3}
        axes.plot(decades, followed, lw=0.7, **look)
        axes.plot(_column(right, own), ratio[own], ls="none", label=f"{name} ({own.sum()})", **look)
    axes.plot(_column(left, ~covers), limit[~covers], ls="none", marker="x", ms=3, color="C1")
    for edge in ((left + decades.min()) / 2, (right + decades.max()) / 2):
        axes.axvline(edge, color="0.7", lw=0.7)
    _name_columns(axes, numbers, left, right)
    axes.set(yscale="log", xlabel="initial scale γ", ylabel="½|θ|² / least − 1")
    axes.set_ylim(bottom=axes.get_ylim()[0] / 30)  # room for the legend
    axes.legend(loc="lower right", bbox_to_anchor=(0.87, 0.0), handletextpad=0.1, fontsize=6.5)


def _column(at: float, draws: np.ndarray) -> np.ndarray:
    """Places side by side of the chosen among all draws."""
    return at + np.linspace(-_APART, _APART, len(draws))[draws]


def _name_columns(axes: Axes, numbers: Numbers, left: float, right: float) -> None:
    """Ticks of γ, and those of the two columns that are off its axis."""
    decades = np.log10(numbers["scales"])
    inner = decades[np.append(True, np.diff(decades) > 4)]  # nearer ones would overlap
    names = [f"$10^{{{round(d)}}}$" for d in inner]
    all_draws = f"all,\n$10^{{{round(np.log10(float(numbers['scale'])))}}}$"
    axes.set_xticks([left, *inner, right], ["→ 0", *names, all_draws], fontsize=6.5)
    axes.set_xlim(left - 1.5 * _APART, right + 1.5 * _APART)


def function(axes: Axes, numbers: Numbers) -> None:
    """The five points, the functions through them, and their kinks."""
    grid, drawn = numbers["grid"], numbers["line_function"]
    looks = ("-", "--", ":")
    for i, (values, color) in enumerate(zip(drawn, colors(len(drawn)), strict=True)):
        axes.plot(grid, values, color=color, ls=looks[i % 3], label=f"draw {i}")
        inside = numbers["line_kinks"][i]
        inside = inside[(inside > grid[0]) & (inside < grid[-1])]
        axes.plot(inside, np.full(len(inside), 0.02), "|", color=color, transform=axes.get_xaxis_transform())
    axes.plot(numbers["line_x"][:, 0], numbers["line_y"], ls="none", marker="o", color="k", mfc="w", zorder=3)
    axes.set(xlabel="input $x$ of $(x, 1)$", ylabel="output $f(x, 1)$")
    axes.legend(fontsize=6.5)


def teacher(axes: Axes, numbers: Numbers) -> None:
    """The loss of every draw, dashed where a sample is lost."""
    from matplotlib.lines import Line2D

    lost = numbers["teacher_lost"] > numbers["teacher_lost_at_start"]
    for values, color, dead in zip(numbers["teacher_loss"], colors(len(lost)), lost, strict=True):
        axes.plot(numbers["teacher_ts"], values, color=color, ls="--" if dead else "-")
    names = ((f"all samples kept ({np.sum(~lost)})", "-"), (f"a sample lost ({np.sum(lost)})", "--"))
    axes.legend(handles=[Line2D([], [], color="0.3", ls=ls, label=name) for name, ls in names])
    axes.set(yscale="log", xlabel="time $t/\\tau$", ylabel="loss")
