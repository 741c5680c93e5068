"""How it looks: a trajectory, a network or arrays and an Axes in, artists out.

`loss`, `weights`, `directions`, `spectra`, `output_map`, `parity`, `energies` draw one thing each on the Axes
they are given, in the caller's settings or, inside `with style():`, in the package's.
"""

from biasfree.arguments import public
from biasfree.plots._curves import leak_legend, level, simulated_points, spread, theory_curve
from biasfree.plots._functions import energies, output_map, parity
from biasfree.plots._networks import NEGATIVE, POSITIVE, directions, spectra, weights
from biasfree.plots._style import WIDTH, leak_colors, panel_label, style
from biasfree.plots._trajectories import loss

__all__ = [
    "NEGATIVE",
    "POSITIVE",
    "WIDTH",
    "directions",
    "energies",
    "leak_colors",
    "leak_legend",
    "level",
    "loss",
    "output_map",
    "panel_label",
    "parity",
    "simulated_points",
    "spectra",
    "spread",
    "style",
    "theory_curve",
    "weights",
]

public(__all__, globals())
