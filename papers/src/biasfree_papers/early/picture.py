"""The picture of the early phase, from stored numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from biasfree import plots
from biasfree_papers.types import Numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_DASHED = (0, (4, 2))
_MARKERS = "oDs^vP"
_NAMES = {0.0: "ReLU", 1.0: "linear"}


def draw(numbers: Numbers) -> Figure:
    """Four panels on rescaled time: norms, the distance from Eq. 23, rank one, and the loss."""
    from matplotlib.figure import Figure

    with plots.style():
        figure = Figure(figsize=(plots.WIDTH, 5.2), layout="constrained")
        parts = (_norms, _gaps, _structure, _loss)
        for axes, part, letter in zip(figure.subplots(2, 2).flat, parts, "abcd", strict=True):
            part(axes, numbers)
            _marks(axes, numbers, named=letter == "d")
            axes.set(xlabel="rescaled time $ct/\\tau$", xlim=(0, _rescaled(numbers, 0).max()))
            plots.panel_label(axes, letter)
    return figure


def _rescaled(numbers: Numbers, i: int, name: str = "ts", draw: int = 0) -> np.ndarray:
    """A time of leak i and one draw, times c."""
    return (1 + numbers["leaks"][i]) / 2 * numbers[name][i, draw]


def _looks(numbers: Numbers) -> list[dict[str, Any]]:
    """A color and a marker for every leak."""
    colors = plots.leak_colors(0.75 * numbers["leaks"])
    return [{"color": color, "marker": _MARKERS[i % 6]} for i, color in enumerate(colors)]


def _name(leak: float) -> str:
    return _NAMES.get(float(leak), f"$\\alpha$ = {leak:g}")


def _marks(axes: Axes, numbers: Numbers, *, named: bool) -> None:
    """The ends of the window and of the plateau, for every leak."""
    for i, look in enumerate(_looks(numbers)):
        for name in ("window", "plateau"):
            axes.axvline(float(_rescaled(numbers, i, name)), color=look["color"], lw=0.9, ls=":", zorder=0)
    if named:
        at: Any = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points", "fontsize": 7}
        for name, shift, side in (("window", 10, "left"), ("plateau", -8, "right")):
            end = (float(_rescaled(numbers, 0, name)), 0.05)
            axes.annotate(f"end of the {name}", end, xytext=(shift, 0), ha=side, **at)


def _points(axes: Axes, numbers: Numbers, i: int, values: np.ndarray, *, draw: int = 0) -> None:
    """Simulated values of leak i as open markers that take turns with those of other leaks."""
    look, t = _looks(numbers)[i], _rescaled(numbers, i, draw=draw)
    label = _name(numbers["leaks"][i]) if draw == 0 else None
    chosen = _nearest(t, (np.arange(15) + 0.25 + 0.5 * i) / 15 * t[-1])
    shown: Any = {"ls": "none", "mfc": "none", "color": look["color"], "marker": look["marker"]}
    axes.plot(t[chosen], values[chosen], label=label, **shown)


def _nearest(t: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The saved times next to those wanted."""
    return np.unique(np.abs(t[:, None] - wanted).argmin(axis=0))


def _norms(axes: Axes, numbers: Numbers) -> None:
    for i, look in enumerate(_looks(numbers)):
        t = _rescaled(numbers, i)
        inside = numbers["ts"][i, 0] <= numbers["window"][i, 0]
        plots.theory_curve(axes, t, numbers["linear_norm"][i, 0], color=look["color"])
        plots.theory_curve(axes, t, numbers["bound"][i, 0], color="0.4", ls=_DASHED)
        plots.theory_curve(axes, t[inside], numbers["lemma_bound"][i, 0][inside], color="C3", lw=1.6)
        _points(axes, numbers, i, numbers["norm"][i, 0])
    axes.plot([], [], color="0.3", label="Eq. 23")
    axes.plot([], [], color="0.4", ls=_DASHED, label="$u(0)\\,e^{cst}$")
    axes.plot([], [], color="C3", lw=1.6, label="Lemma 12")
    axes.set(ylabel="larger norm of a layer, $u$", yscale="log", ylim=(numbers["norm"].min() / 2, 100))
    axes.legend(loc="lower right", bbox_to_anchor=(0.87, 0.0))


def _gaps(axes: Axes, numbers: Numbers) -> None:
    for i, look in enumerate(_looks(numbers)):
        t, size = _rescaled(numbers, i), numbers["size"][i, 0]
        bound = numbers["gap_bound"][i, 0] / size
        plots.theory_curve(axes, t[1:], bound[1:], color=look["color"], ls=_DASHED)
        _points(axes, numbers, i, numbers["gap"][i, 0] / size)
    axes.axhline(numbers["error"].max(), color="0.75", lw=2, zorder=0, label="error of the simulator")
    axes.plot([], [], color="0.3", ls=_DASHED, label="bound on the gap")
    axes.set(
        ylabel="$|W-\\tilde W|\\,/\\,|\\tilde W|$,  $\\tilde W$ of Eq. 23", yscale="log", ylim=(1e-13, 1e3)
    )
    axes.legend(loc="upper left", bbox_to_anchor=(0.06, 1.0))


def _structure(axes: Axes, numbers: Numbers) -> None:
    for i, look in enumerate(_looks(numbers)):
        t = _rescaled(numbers, i)
        plots.theory_curve(axes, t, numbers["linear_residual"][i, 0], color=look["color"])
        chosen = _nearest(t, np.linspace(0, t[-1], 60))
        axes.plot(t[chosen], numbers["angle"][i, 0][chosen], ".", ms=2, color=look["color"])
        for draw in range(len(numbers["seeds"])):
            _points(axes, numbers, i, numbers["residual"][i, draw], draw=draw)
    axes.plot([], [], color="0.3", label="Eq. 23")
    axes.plot([], [], ".", ms=2, color="0.3", label="angle of $r$ to $\\barβ$ (rad), simulated")
    axes.set(ylabel="$|W_1-W_2^T r^T|\\,/\\,|W_2|$", yscale="log", ylim=(1e-6, 5))
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, 1.04))


def _loss(axes: Axes, numbers: Numbers) -> None:
    for i, look in enumerate(_looks(numbers)):
        t, label = _rescaled(numbers, i), _name(numbers["leaks"][i])
        plots.theory_curve(axes, t, numbers["reduced_loss"][i, 0], color=look["color"])
        plots.simulated_points(axes, t, numbers["loss"][i, 0], shift=0.5 * i, label=label, **look)
    axes.plot([], [], color="0.3", label="reduced flow")
    axes.set(ylabel="loss", ylim=(0, None))
    axes.legend(loc="center left", bbox_to_anchor=(0.1, 0.5))
