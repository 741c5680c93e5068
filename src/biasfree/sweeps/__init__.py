"""Sweeps: a function over a grid of parameters, computed by many processes, with its results in a store."""

from biasfree.arguments import public
from biasfree.sweeps._level_line import level_line
from biasfree.sweeps._plan import Plan
from biasfree.sweeps._running import Stale
from biasfree.sweeps._sweep import Failure, Sweep, sweep
from biasfree.sweeps._tabulate import tabulate

__all__ = ["Failure", "Plan", "Stale", "Sweep", "level_line", "sweep", "tabulate"]

public(__all__, globals())
