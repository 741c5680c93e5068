"""The lower row of the picture: norms of a dozen samples, the five points, the teacher."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from biasfree.experiments.experiment import Numbers
from biasfree.experiments.picture import colours

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_KINDS = ((True, "o", "C0", "covered"), (False, "s", "C1", "not covered"))
_APART = 1.2  # decades by which all draws are spread around their γ


def norms(axes: Axes, numbers: Numbers) -> None:
    """Excess of ½|θ|² over the shortest interpolator's, against γ."""
    scales, covers = numbers["scales"], numbers["many_covers"]
    ratio = numbers["many_norm"] / numbers["many_minimum"] - 1
    scan = numbers["many_scan_norm"] / numbers["many_scan_minimum"] - 1
    limit = numbers["many_limit"] / numbers["many_minimum"] - 1
    left = scales[0] * 1e-4
    for kind, marker, colour, name in _KINDS:
        axes.plot(scales, scan[:, numbers["many_scan_covers"][0] == kind], color=colour, lw=0.7)
        own = covers == kind
        at = float(numbers["scale"]) * 10 ** np.linspace(-_APART, _APART, max(own.sum(), 1))[: own.sum()]
        look: Any = {"ls": "none", "marker": marker, "mfc": "none", "color": colour, "ms": 3}
        axes.plot(at, ratio[own], label=f"{name} ({own.sum()})", **look)
    spread = 10 ** np.linspace(-1, 1, max(int((~covers).sum()), 1))[: int((~covers).sum())]
    axes.plot(left * spread, limit[~covers], ls="none", marker="x", ms=3, color="C1", label="γ → 0")
    axes.set(xscale="log", yscale="log", xlabel="initial scale γ", ylabel="½|θ|² / least − 1")
    axes.legend(loc="lower right", handletextpad=0.1)


def function(axes: Axes, numbers: Numbers) -> None:
    """The five points, the functions through them, and their kinks."""
    grid, drawn = numbers["grid"], numbers["line_function"]
    looks = ("-", "--", ":")
    for i, (values, colour) in enumerate(zip(drawn, colours(len(drawn)), strict=True)):
        axes.plot(grid, values, color=colour, ls=looks[i % 3], label=f"draw {i}")
        inside = numbers["line_kinks"][i]
        inside = inside[(inside > grid[0]) & (inside < grid[-1])]
        axes.plot(inside, np.full(len(inside), 0.02), "|", color=colour, transform=axes.get_xaxis_transform())
    axes.plot(numbers["line_x"], numbers["line_y"], ls="none", marker="o", color="k", mfc="w", zorder=3)
    axes.set(xlabel="input $x$ of $(x, 1)$", ylabel="output $f(x, 1)$")
    axes.legend(fontsize=6.5)


def teacher(axes: Axes, numbers: Numbers) -> None:
    """The loss of every draw, dashed where a sample is lost."""
    from matplotlib.lines import Line2D

    lost = numbers["teacher_lost"] > numbers["teacher_lost_at_start"]
    for values, colour, dead in zip(numbers["teacher_loss"], colours(len(lost)), lost, strict=True):
        axes.plot(numbers["teacher_ts"], values, color=colour, ls="--" if dead else "-")
    names = ((f"all samples kept ({np.sum(~lost)})", "-"), (f"a sample lost ({np.sum(lost)})", "--"))
    axes.legend(handles=[Line2D([], [], color="0.3", ls=ls, label=name) for name, ls in names])
    axes.set(yscale="log", xlabel="time $t/\\tau$", ylabel="loss")
