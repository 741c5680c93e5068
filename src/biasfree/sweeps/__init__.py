"""Sweeps: a function over a grid of parameters, computed by many processes, with its results in a store."""

from biasfree.arguments import exported
from biasfree.sweeps._boundary import level_line
from biasfree.sweeps._plan import Plan
from biasfree.sweeps._sweep import Failure, Sweep, sweep
from biasfree.sweeps._tabulate import tabulate

__all__ = ["Failure", "Plan", "Sweep", "level_line", "sweep", "tabulate"]

exported(__all__, globals())
