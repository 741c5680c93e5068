"""The picture of the bias experiment, from stored numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray

from biasfree import plots
from biasfree.data import Dataset
from biasfree_papers.bias.compute import POSITIVES
from biasfree_papers.named_arrays import network_of
from biasfree_papers.panels import Axes, Figure, Row, picture

_PLAIN, _BIASED = "#0072b2", "#d55e00"
_EXTENT, _SIX = 4.2, 1.6
_DASHES = (0, (4, 1.5))
_CLASSIFIERS: dict[str, dict[str, Any]] = {
    "origin": {"color": _PLAIN, "ls": _DASHES, "marker": "o", "label": "x, through 0"},
    "stacked": {"color": _BIASED, "ls": "-", "marker": "s", "label": "[x, 1]"},
    "free": {"color": "k", "ls": ":", "marker": "^", "label": "x, free offset"},
}
_KINDS: dict[str, dict[str, Any]] = {
    "plain": {"color": _PLAIN, "ls": _DASHES, "marker": "o", "label": "without biases"},
    "biased": {"color": _BIASED, "ls": "-", "marker": "s", "label": "with biases"},
}


def draw(n: xarray.Dataset) -> Figure:
    """f along the normal, margins, angles of classifiers; lines on shifted data, and six points."""
    below = Row([(2, _shifted), _six], widths=(2, 1))
    return picture(n, [[_profile, _margins, _angles], below], height=4.6)


def _open(look: dict[str, Any]) -> Any:
    """Open markers of a look."""
    return {"ls": "none", "mfc": "none", "marker": look["marker"], "color": look["color"]}


def _profile(axes: Axes, n: xarray.Dataset) -> None:
    """f along the normal of the boundary, over its value at the margin."""
    margin, s = float(n.margin), np.linspace(-2.5, 2.5, 201)
    normal, some = POSITIVES[0] / margin, np.linspace(-2.4, 2.4, 17)
    kinked = (np.maximum(s * margin + 1, 0) - np.maximum(1 - s * margin, 0)) / (margin**2 + 1)
    for (kind, look), limit in zip(_KINDS.items(), (s / margin, kinked), strict=True):
        plots.theory_curve(axes, s, limit, color=look["color"], ls=look["ls"], label=look["label"])
        f = network_of(n, f"{kind}_symmetric")
        axes.plot(some, f(np.outer(some, normal)) / f(margin * normal[None]), **_open(look))
    axes.set(xlabel="distance from the boundary", ylabel="$f$ / value at the margin $\\gamma$")
    axes.legend(loc="upper left")


def _margins(axes: Axes, n: xarray.Dataset) -> None:
    texts = {"plain": "$\\gamma/4$", "biased": "$\\sqrt{\\gamma^2+1}\\,/4$"}
    for kind, look in _KINDS.items():
        margins = n.margins.sel(kind=kind)
        axes.plot(n.time, margins.T, color=look["color"], lw=0.7)
        axes.plot(n.time[::4], margins[0, ::4], **_open(look))
        plots.level(axes, float(n.largest.sel(kind=kind)), texts[kind], color=look["color"], side="left")
    axes.set(xscale="log", xlabel="time $t/\\tau$", ylabel="smallest normalized margin")
    axes.set_ylim(max(0.0, float(n.margins.min()) - 0.03), float(n.largest.max()) + 0.06)


def _angles(axes: Axes, n: xarray.Dataset) -> None:
    for name, look in _CLASSIFIERS.items():
        one = n.sel(classifier=name)
        plots.theory_curve(axes, n["shift"], one.closed_angle, color=look["color"], ls=look["ls"])
        axes.plot(n["shift"], one.angle, label=look["label"], **_open(look))
    axes.set(xlabel="shift of the data", ylabel="signed angle (degrees)")
    axes.legend(loc="lower left")


def _shifted(pair: Any, n: xarray.Dataset) -> None:
    """The shifted data: max-margin lines of three classifiers, and the boundaries of two networks."""
    one = n.sel(data="shifted")
    for axes in pair:
        for sign, marker in ((1, "o"), (-1, "s")):
            axes.plot(*one.x.values[n.y == sign].T, marker, ls="none", mfc="0.85", mec="k", ms=4)
        axes.set(xlim=(-_EXTENT, _EXTENT), ylim=(-_EXTENT, _EXTENT), aspect="equal", xlabel="$x_1$")
    for name, look in _CLASSIFIERS.items():
        w1, w2, b = one.line.sel(classifier=name).values
        start = -b * np.array([w1, w2]) / (w1**2 + w2**2)
        pair[0].axline(start, start + np.array([-w2, w1]), lw=1.2, color=look["color"], ls=look["ls"])
    for kind, look in _KINDS.items():
        _zero_line(pair[1], network_of(n, f"{kind}_shifted"), look["color"], _EXTENT, ls=look["ls"])
    pair[0].set_ylabel("$x_2$")
    pair[1].tick_params(labelleft=False)
    for axes, title in zip(pair, ("max margin, as in (c)", "trained, as in (a)"), strict=True):
        axes.set_title(title, fontsize=7, loc="right")


def _six(axes: Axes, n: xarray.Dataset) -> None:
    """The output of a network without biases on the six points, and the boundary of one with biases."""
    plain, data = network_of(n, "six_plain"), Dataset(n.six_x.values, n.six_y.values)
    plots.output_map(axes, lambda x: np.tanh(plain(x)), data=data, extent=_SIX, resolution=201)
    _zero_line(axes, network_of(n, "six_biased"), _BIASED, _SIX)
    nearest = abs(n.distance.isel(seed=n.shown)).min("six").values
    axes.set_title("nearest: {:.2f} without,\n{:.2f} with biases".format(*nearest), fontsize=7, loc="right")


def _zero_line(axes: Axes, function: Any, color: str, extent: float, ls: Any = "-") -> None:
    """Where a function of the plane vanishes."""
    line = np.linspace(-extent, extent, 201)
    values = np.stack([function(np.column_stack([line, np.full(201, height)])) for height in line])
    axes.contour(line, line, values, levels=[0.0], colors=color, linewidths=1.2, linestyles=[ls])
