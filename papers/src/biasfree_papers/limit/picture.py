"""The picture of Corollary 6, from stored numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from biasfree import plots
from biasfree_papers.shared.picture import MARKERS, fill
from biasfree_papers.types import Numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_TIME = "rescaled time $ct/\\tau$"
_DASHED = (0, (4, 2))
_SEEN = 1e12  # the time up to which simulation and theory are shown together


def draw(numbers: Numbers) -> Figure:
    """Four panels: distance to least squares, angle and margin on the way, other dimensions."""
    from matplotlib.figure import Figure

    with plots.style():
        figure = Figure(figsize=(plots.WIDTH, 5.0), layout="constrained")
        parts = (_least_squares, _angle, _margin, _dimensions)
        fill(figure.subplots(2, 2).flat, parts, numbers)
    return figure


def _leaks(axes: Axes, numbers: Numbers, ts: np.ndarray, curves: np.ndarray) -> None:
    """One course a leak, as markers that take turns; the rows of `curves` are leaks."""
    leaks = numbers["leaks"]
    colors = plots.leak_colors(leaks)
    for i, (color, curve) in enumerate(zip(colors, curves, strict=True)):
        chosen = slice(i * 2 + 1, None, 2 * len(leaks))
        look: Any = {"ls": "none", "marker": MARKERS[i % len(MARKERS)], "mfc": "none", "color": color}
        axes.plot(ts[chosen], curve[chosen], **look)


def _legend(axes: Axes, numbers: Numbers, **where: Any) -> None:
    from matplotlib.lines import Line2D

    leaks, names = numbers["leaks"], {0.0: " (ReLU)", 1.0: " (linear)"}
    looks: list[Any] = [
        {"ls": "none", "mfc": "none", "marker": MARKERS[i % len(MARKERS)], "color": color}
        for i, color in enumerate(plots.leak_colors(leaks))
    ]
    handles = [Line2D([], [], **look) for look in looks]
    labels = [f"$\\alpha$ = {leak:g}{names.get(float(leak), '')}" for leak in leaks]
    lines, texts = axes.get_legend_handles_labels()
    axes.legend([*handles, *lines], [*labels, *texts], **where)


def _least_squares(axes: Axes, numbers: Numbers) -> None:
    ts, target = numbers["square_ts"], numbers["square_target"]
    size = np.linalg.norm(target)
    exact = np.linalg.norm(numbers["square_reduced"][0] - target, axis=-1) / size
    plots.theory_curve(axes, ts, exact, color="0.3", label="reduced flow")
    plots.theory_curve(axes, ts, numbers["square_bound"][0, 0], color="C3", ls=_DASHED, label="bound")
    simulated = np.linalg.norm(numbers["square_maps"][0] - target, axis=-1) / size
    _leaks(axes, numbers, ts, simulated)
    axes.set(xlabel=_TIME, ylabel="$|w-w^*|\\,/\\,|w^*|$, least squares", yscale="log", xlim=(0, ts[-1]))
    _legend(axes, numbers, loc="lower left")


def _angle(axes: Axes, numbers: Numbers) -> None:
    d = numbers["logistic_maps"].shape[-1]
    ts, size = numbers["margin_ts"], numbers[f"size_{d}"]
    plots.theory_curve(axes, ts, np.degrees(numbers[f"angle_{d}"]), color="0.3", label="reduced flow")
    if np.isfinite(numbers[f"offset_{d}"]):
        late = ts > 10
        limit = np.degrees(np.arctan(numbers[f"offset_{d}"] / size))
        plots.theory_curve(
            axes, ts[late], limit[late], color="C3", ls=_DASHED, label="asymptote $|\\rho|/|w|$"
        )
    _leaks(axes, numbers, numbers["logistic_ts"], np.degrees(numbers["logistic_angle"][0]))
    axes.set(xlabel=_TIME, ylabel="angle to the hard margin (degrees)", xscale="log", yscale="log")
    axes.set_xlim(numbers["logistic_ts"][1], min(ts[-1], _SEEN))
    _legend(axes, numbers, loc="upper right")


def _margin(axes: Axes, numbers: Numbers) -> None:
    d = numbers["logistic_maps"].shape[-1]
    plots.theory_curve(axes, numbers["margin_ts"], 1 - numbers[f"margin_share_{d}"], color="0.3")
    _leaks(axes, numbers, numbers["logistic_ts"], 1 - numbers["logistic_share"][0])
    axes.set(xlabel=_TIME, ylabel="shortfall of the margin, $1-m(t)/m^*$", xscale="log", yscale="log")
    axes.set_xlim(numbers["logistic_ts"][1], min(numbers["margin_ts"][-1], _SEEN))


def _dimensions(axes: Axes, numbers: Numbers) -> None:
    ts = numbers["margin_ts"]
    late = ts > 10
    for i, d in enumerate(numbers["margin_dimensions"]):
        look = {"color": f"C{i}", "ls": ("-", "--", "-.", ":")[i % 4]}
        angle, size = numbers[f"angle_{d}"], numbers[f"size_{d}"]
        plots.theory_curve(axes, np.log(ts[late]), np.degrees(angle[late]), label=f"$D$ = {d}", **look)
        chosen = np.searchsorted(ts, np.exp(np.geomspace(np.log(30), np.log(ts[-1]), 10))).clip(
            max=len(ts) - 1
        )
        limit = np.degrees(np.arctan(numbers[f"offset_{d}"] / size))
        axes.plot(np.log(ts[chosen]), limit[chosen], "x", color=f"C{i}", ms=4)
    ends = np.log(ts[late][[0, -1]])
    start = 0.4 * np.degrees(min(numbers[f"angle_{d}"][-1] for d in numbers["margin_dimensions"])) * ends[1]
    axes.plot(ends, start / ends, color="0.6", lw=0.8, ls=":", label="∝ 1/ln t")
    axes.plot([], [], "x", color="0.3", ms=4, label="$|\\rho|/|w|$")
    axes.set(
        xlabel="$\\ln(t/\\tau)$", ylabel="angle to the hard margin (degrees)", xscale="log", yscale="log"
    )
    axes.set_xticks([3, 10, 30], ["3", "10", "30"])
    axes.set_xticks([], minor=True)
    axes.legend(loc="upper right")
