"""Pictures of the tutorial and of the pages on the theory: a function per picture, named as its page."""

from typing import Any

from matplotlib.figure import Figure

from biasfree.plots import panel_label


def panels(size: tuple[float, float], count: int = 1, **options: Any) -> tuple[Figure, Any]:
    """A figure, and its panels in one row; several have letters."""
    figure = Figure(figsize=size, layout="constrained")
    if count == 1:
        return figure, figure.subplots()
    axes = figure.subplots(1, count, **options)
    for panel, letter in zip(axes, "abc", strict=False):
        panel_label(panel, letter)
    return figure, axes
