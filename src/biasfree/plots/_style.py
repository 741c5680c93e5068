"""One look for all figures: no TeX, colours that stay apart for colour-blind eyes and in grey."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH = 7.0  # inches, the text width of the journal
_STYLE: Any = {
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.7,
    "lines.linewidth": 1.2,
    "lines.markersize": 3.5,
    "savefig.dpi": 200,
    "pdf.fonttype": 42,
    "text.usetex": False,
    "mathtext.fontset": "dejavusans",
}


@contextmanager
def style() -> Iterator[None]:
    """The package's look inside a `with` block; the caller's own settings come back after it."""
    import matplotlib

    with matplotlib.rc_context(_STYLE):
        yield


def leak_colors(leaks: Iterable[float]) -> list[tuple[float, ...]]:
    """One colour a leak, dark for ReLU to light for linear: viridis, whose lightness rises evenly."""
    import matplotlib

    palette = matplotlib.colormaps["viridis"]
    return [palette(0.9 * float(leak)) for leak in leaks]


def panel_label(axes: Axes, letter: str) -> None:
    """The letter of a panel, above its left edge."""
    axes.set_title(f"({letter})", loc="left", fontweight="bold")
