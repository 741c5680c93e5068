"""Sweeps: a function over a grid of parameters, computed by many processes, with its results in a store."""

from biasfree.arguments import exported
from biasfree.sweeps._plan import Plan, status
from biasfree.sweeps._results import tabulate
from biasfree.sweeps._sweep import Failure, Sweep, sweep

__all__ = ["Failure", "Plan", "Sweep", "status", "sweep", "tabulate"]

exported(__all__, globals())
