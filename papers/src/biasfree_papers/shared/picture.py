"""Parts of pictures that several figures share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any

import numpy as np

from biasfree import plots
from biasfree.networks import Network
from biasfree_papers.types import Numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.gridspec import SubplotSpec

#: Shapes that can be told apart where colors cannot.
MARKERS = "osDv^<>Ph*"


def fill(
    panels: Iterable[Axes],
    parts: Sequence[Callable[[Axes, Numbers], None]],
    numbers: Numbers,
    *,
    letters: str = ascii_lowercase,
) -> None:
    """Draw each part on its panel, and label the panels with consecutive letters."""
    for axes, part, letter in zip(panels, parts, letters[: len(parts)], strict=True):
        part(axes, numbers)
        plots.panel_label(axes, letter)


def colors(n: int) -> list[tuple[float, ...]]:
    """n colors from dark to light."""
    return plots.leak_colors(np.linspace(0, 1, n))


def broken(figure: Figure, cell: SubplotSpec) -> tuple[Axes, Axes]:
    """A panel with a gap in its vertical axis: the axes for large values, and those below for tiny values."""
    parts = cell.subgridspec(2, 1, height_ratios=(4, 1), hspace=0)
    upper, lower = (figure.add_subplot(part) for part in parts)
    lower.sharex(upper)
    upper.spines["bottom"].set_visible(False)
    upper.tick_params(axis="x", which="both", bottom=False, labelbottom=False)
    mark: Any = {"marker": [(-1, -0.5), (1, 0.5)], "ms": 7, "mew": 0.8, "color": "k", "clip_on": False}
    upper.plot(0, 0, transform=upper.transAxes, **mark)
    lower.plot(0, 1, transform=lower.transAxes, **mark)
    return upper, lower


def draws_and_median(
    axes: Axes,
    x: np.ndarray,
    values: np.ndarray,
    *,
    spread: float,
    color: Any,
    marker: str,
    ls: Any,
    label: str,
    **small: Any,
) -> None:
    """All seeds as small markers, `spread` decades to either side of x, and a line through their medians."""
    values = values.reshape(len(x), -1)
    around = np.outer(x, 10 ** np.linspace(-spread, spread, values.shape[1]))
    axes.plot(around, values, marker=marker, ls="none", mfc="none", color=color, **small)
    axes.plot(x, np.median(values, axis=1), ls=ls, color=color, label=label)


def network_of(numbers: Numbers, prefix: str, *, leak: float = 0.0) -> Network:
    """The network whose layers are stored under a prefix."""
    weights = _stored(numbers, f"{prefix}_W")
    return Network(weights, leak=leak, biases=_stored(numbers, f"{prefix}_b") or None)


def _stored(numbers: Numbers, name: str) -> tuple[np.ndarray, ...]:
    found = []
    while (key := f"{name}{len(found) + 1}") in numbers:
        found.append(numbers[key])
    return tuple(found)
