"""The style of all figures: no TeX, colors that are distinct for color-blind readers and in gray."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from biasfree.arguments import public

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


@public
@contextmanager
def style() -> Iterator[None]:
    """The package's Matplotlib settings inside a `with` block; the caller's are restored after it."""
    import matplotlib

    with matplotlib.rc_context(_STYLE):
        yield


@public
def leak_colors(leaks: Iterable[float]) -> list[tuple[float, ...]]:
    """One color per leak, from dark (ReLU) to light (linear), of the color map viridis."""
    import matplotlib

    palette = matplotlib.colormaps["viridis"]
    return [palette(0.9 * float(leak)) for leak in leaks]


@public
def panel_label(axes: Axes, letter: str) -> None:
    """Write the letter of a panel above its left edge."""
    axes.set_title(f"({letter})", loc="left", fontweight="bold")
