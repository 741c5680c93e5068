"""How it looks: arrays and an Axes in, artists out."""

from biasfree.plots.curves import leak_legend, level, simulated_points, theory_curve
from biasfree.plots.style import WIDTH, leak_colours, panel_label, style

__all__ = [
    "WIDTH",
    "leak_colours",
    "leak_legend",
    "level",
    "panel_label",
    "simulated_points",
    "style",
    "theory_curve",
]
