"""The picture of the test bench, from stored numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from biasfree import plots
from biasfree_papers.conjecture.counting import finished, halves_finished
from biasfree_papers.types import Numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: The larger and the smaller scale.
_LOOKS: tuple[dict[str, Any], ...] = (
    {"marker": "s", "color": "#c26a00"},
    {"marker": "o", "color": "#1f4e9c"},
)
_HALF: dict[str, Any] = {"marker": "^", "color": "#2a7f4f"}
_ROWS = {"linear": "linear target", "odd": "odd target, at least squares"}


def draw(numbers: Numbers) -> Figure:
    """Distance from Eq. 40 by kind of inputs: a column a depth, a row a target."""
    from matplotlib.figure import Figure

    depths = np.unique(numbers["depth"])
    with plots.style():
        figure = Figure(figsize=(plots.WIDTH, 5.0), layout="constrained")
        axes = figure.subplots(len(_ROWS), len(depths), sharex=True, sharey=True, squeeze=False)
        for panel, letter in zip(axes.flat, "abcdef", strict=False):
            plots.panel_label(panel, letter)
        for row, target in zip(axes, _ROWS, strict=True):
            for panel, depth in zip(row, depths, strict=True):
                _distances(panel, numbers, target, depth)
            row[0].set_ylabel(f"distance from Eq. 40\n{_ROWS[target]}")
        for top, bottom, depth in zip(axes[0], axes[-1], depths, strict=True):
            top.set_title(f"$L$ = {depth} layers")
            bottom.set_xlabel("inputs")
            _legend(bottom, numbers, depth)
    return figure


def _distances(axes: Axes, numbers: Numbers, target: str, depth: int) -> None:
    kinds = list(dict.fromkeys(map(str, numbers["kind"])))
    axes.set(yscale="log", ylim=(1.3e-3, 1.6), xlim=(-0.6, len(kinds) - 0.4))
    axes.set_xticks(range(len(kinds)), kinds, rotation=35, ha="right", rotation_mode="anchor")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    here = (numbers["target"] == target) & (numbers["depth"] == depth)
    for i, kind in enumerate(kinds):
        axes.axvspan(i - 0.5, i + 0.5, color="0.96" if i % 2 == 0 else "1.0", lw=0, zorder=0)
        for side, scale, look in _scales(numbers, depth):
            chosen = here & (numbers["kind"] == kind) & (numbers["scale"] == scale)
            if chosen.any():
                _markers(axes, numbers, chosen, i + 0.25 * side, look)
        if target == "linear" and depth in numbers.get("half_depth", ()):
            _halves(axes, numbers, kind, depth, float(i))


def _markers(axes: Axes, numbers: Numbers, chosen: np.ndarray, at: float, look: dict[str, Any]) -> None:
    """A group of draws: what finished at its distance, with where it was later; the rest on the edge."""
    x = at + np.linspace(-0.11, 0.11, int(chosen.sum()))
    done, distance = finished(numbers)[chosen], numbers["distance"][chosen]
    if numbers["target"][chosen][0] != "linear":
        axes.vlines(x[done], distance[done], numbers["later"][chosen][done], color=look["color"], lw=0.8)
    _group(axes, x, done, distance, numbers["kept"][chosen], look)


def _halves(axes: Axes, numbers: Numbers, kind: str, depth: int, at: float) -> None:
    """The runs to the first half of one kind of inputs."""
    chosen = (numbers["half_kind"] == kind) & (numbers["half_depth"] == depth)
    x, done = at + np.linspace(-0.08, 0.08, int(chosen.sum())), halves_finished(numbers)[chosen]
    _group(axes, x, done, numbers["half_distance"][chosen], numbers["half_kept"][chosen], _HALF)


def _group(
    axes: Axes, x: np.ndarray, done: np.ndarray, distance: np.ndarray, kept: np.ndarray, look: dict[str, Any]
) -> None:
    """Markers of what finished, crosses on the edge for the rest, and a line at the median γ/u."""
    axes.plot(x[done], distance[done], ls="none", mfc="none", **look)
    axes.plot(x[~done], np.full((~done).sum(), 1.25), ls="none", marker="x", color=look["color"])
    if done.any():
        ends = x.min() - 0.07, x.max() + 0.07
        axes.hlines(np.median(kept[done]), *ends, color=look["color"], lw=1.6, alpha=0.5)


def _scales(numbers: Numbers, depth: int) -> list[tuple[int, float, dict[str, Any]]]:
    """The larger scale to the left, the smaller to the right, each with its look."""
    scales = np.unique(numbers["scale"][numbers["depth"] == depth])[::-1]
    return list(zip((-1, 1), map(float, scales), _LOOKS, strict=True))


def _legend(axes: Axes, numbers: Numbers, depth: int) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], ls="none", mfc="none", label=f"$\\gamma$ = {scale:g}", **look)
        for _, scale, look in _scales(numbers, depth)
    ]
    if depth in numbers.get("half_depth", ()):
        handles.append(
            Line2D(
                [],
                [],
                ls="none",
                mfc="none",
                label=f"$\\gamma$ = {float(numbers['half_scale']):g}, half",
                **_HALF,
            )
        )
    handles.append(Line2D([], [], color="0.4", lw=1.6, alpha=0.6, label="$\\gamma/u$"))
    if not finished(numbers).all():
        handles.append(Line2D([], [], ls="none", marker="x", color="0.4", label="not followed"))
    axes.legend(handles=handles, ncols=2, loc="lower right", handlelength=1.2, columnspacing=0.8)
