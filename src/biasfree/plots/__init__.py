"""Plots of trajectories, networks and arrays on a given Axes; each function returns its artists.

They use the caller's Matplotlib settings or, inside `with style():`, those of the package.
"""

from biasfree.plots._curves import leak_legend, level, simulated_points, spaced_indices, theory_curve
from biasfree.plots._directions import NEGATIVE, POSITIVE, directions
from biasfree.plots._functions import energies, output_map, parity
from biasfree.plots._networks import spectra, weights
from biasfree.plots._phase_diagrams import brackets, phase_diagram
from biasfree.plots._style import WIDTH, leak_colors, panel_label, style
from biasfree.plots._trajectories import loss, trajectory

__all__ = [
    "NEGATIVE",
    "POSITIVE",
    "WIDTH",
    "brackets",
    "directions",
    "energies",
    "leak_colors",
    "leak_legend",
    "level",
    "loss",
    "output_map",
    "panel_label",
    "parity",
    "phase_diagram",
    "simulated_points",
    "spaced_indices",
    "spectra",
    "style",
    "theory_curve",
    "trajectory",
    "weights",
]
