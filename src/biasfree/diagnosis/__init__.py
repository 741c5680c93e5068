"""The verdict: is this network effectively linear, are these data symmetric, and what follows?"""

from biasfree.diagnosis._diagnose import diagnose
from biasfree.diagnosis._report import Report
from biasfree.tables import Table

__all__ = ["Report", "Table", "diagnose"]
