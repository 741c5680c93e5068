"""The diagnosis of a model and its data: `diagnose` and the report that it returns."""

from biasfree.diagnosis._diagnose import diagnose
from biasfree.diagnosis._report import Report

__all__ = ["Report", "diagnose"]
