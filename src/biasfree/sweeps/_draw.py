"""Pictures of a sweep: a curve over one axis, a phase diagram over two."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from biasfree.plots import brackets, phase_diagram
from biasfree.sweeps._boundary import Field, crossings, field

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from biasfree.sweeps._sweep import Sweep


def draw(
    sweep: Sweep,
    name: str,
    *,
    axes: Axes | None,
    at: Mapping[str, Any] | None,
    reduce: str,
    level: float | None,
) -> Any:
    """Draw a result of a sweep over one or two axes; returns the artist."""
    import matplotlib.pyplot as plt

    found = field(sweep.points, sweep.grid, name, at=at, reduce=reduce)
    if len(found.axes) > 2:
        raise ValueError(
            f"a picture has two axes, but {name!r} has {', '.join(found.axes)}; fix the others by at=."
        )
    axes = plt.subplots(layout="constrained")[1] if axes is None else axes
    return _curve(axes, found, level) if len(found.axes) == 1 else _diagram(axes, found, sweep, level)


def _curve(axes: Axes, found: Field, level: float | None) -> Any:
    """The result over its axis, with standard errors over seeds."""
    places = sorted(found.values)
    x = [place[0] for place in places]
    error = [found.error[place] for place in places]
    artist = axes.errorbar(x, [found.values[place] for place in places], error, marker="o", capsize=2)
    (name,) = found.axes
    axes.set(xlabel=name, ylabel=found.name, xscale="log" if found.logarithmic[name] else "linear")
    if level is not None:
        axes.axhline(level, color="0.5", lw=0.8)
    return artist


def _diagram(axes: Axes, found: Field, sweep: Sweep, level: float | None) -> Any:
    """Tiles at the points of the grid; points of refinements are drawn on top in the same colors."""
    across, up = found.axes
    x, y = (sorted(sweep.grid.axes[name]) for name in found.axes)
    z = np.array([[found.values.get((a, b), np.nan) for a in x] for b in y])
    logs = {"log_x": found.logarithmic[across], "log_y": found.logarithmic[up]}
    mesh = phase_diagram(axes, x, y, z, **logs)
    new = [place for place in found.values if place[0] not in x or place[1] not in y]
    if new:
        colors = [found.values[place] for place in new]
        scale: dict[str, Any] = {"norm": mesh.norm, "cmap": mesh.cmap}
        right, high = zip(*new, strict=True)
        axes.scatter(right, high, c=colors, s=9, ec="w", lw=0.3, **scale)
    if level is not None:
        line = crossings(found, level)
        for axis, along in ((across, "x"), (up, "y")):
            part = line.isel(crossing=np.asarray(line["axis"]) == axis)
            if part.sizes["crossing"]:
                brackets(axes, part[across], part[up], part["low"], part["high"], along=along)
    axes.set(xlabel=across, ylabel=up)
    axes.figure.colorbar(mesh, ax=axes, label=found.name)
    return mesh
