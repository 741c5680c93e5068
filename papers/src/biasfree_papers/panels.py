"""Pictures of figures: lettered panels on a grid, each drawn by a function of (axes, numbers)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any, Literal

from biasfree import plots

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
else:  # in annotations alone: to import a figure does not load matplotlib
    Axes = Figure = Any

#: Draws one panel.
Panel = Callable[[Any, "xarray.Dataset"], None]


@dataclass(frozen=True)
class Row:
    """A row of panels: their functions and widths, the height of the row, and a legend that they share.

    A panel may be a pair (n, function): n small axes side by side under one letter, passed as an array.
    """

    panels: Sequence[Panel | tuple[int, Panel]]
    widths: Sequence[float] | None = None
    height: float = 1.0
    legend: Literal["", "below"] = ""
    share_y: bool = False


def picture(
    numbers: xarray.Dataset,
    rows: Sequence[Row | Sequence[Panel | tuple[int, Panel]]],
    *,
    height: float,
    legend: Literal["", "below"] = "",
) -> Figure:
    """A figure of rows of panels, with letters from (a) on; `height` is in inches."""
    from matplotlib.figure import Figure as NewFigure

    given = [row if isinstance(row, Row) else Row(row) for row in rows]
    letters = iter(ascii_lowercase)
    with plots.style():
        figure = NewFigure(figsize=(plots.WIDTH, height), layout="constrained")
        parts: Any = figure.subfigures(
            len(given), 1, height_ratios=[row.height for row in given], squeeze=False
        )
        for part, row in zip(parts[:, 0], given, strict=True):  # color bars narrow their row only
            _row(part, row, numbers, letters)
        if legend:
            _legend(figure)
    return figure


def _row(part: Any, row: Row, numbers: xarray.Dataset, letters: Any) -> None:
    counts = [panel[0] if isinstance(panel, tuple) else 1 for panel in row.panels]
    widths = row.widths or counts
    each = [w / n for w, n in zip(widths, counts, strict=True) for _ in range(n)]
    axes = part.subplots(1, len(each), width_ratios=each, squeeze=False, sharey=row.share_y)[0]
    first = 0
    for panel, count in zip(row.panels, counts, strict=True):
        if isinstance(panel, tuple):
            panel[1](axes[first : first + count], numbers)
        else:
            panel(axes[first], numbers)
        plots.panel_label(axes[first], next(letters))
        first += count
    if row.legend:
        _legend(part)


def _legend(part: Any) -> None:
    """One legend, below, of all labels of a figure or of a row, each once."""
    found: dict[str, Any] = {}
    for axes in part.axes if hasattr(part, "axes") else ():
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    part.legend(found.values(), found.keys(), loc="outside lower center", ncols=min(len(found), 5))
