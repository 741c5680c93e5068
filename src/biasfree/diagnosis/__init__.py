"""The diagnosis of a model and its data: `diagnose`, its report, and the trend over checkpoints."""

from biasfree.arguments import public
from biasfree.diagnosis._checkpoints import Checkpoint, Trend, diagnose_checkpoints
from biasfree.diagnosis._diagnose import diagnose
from biasfree.diagnosis._report import Report

__all__ = ["Checkpoint", "Report", "Trend", "diagnose", "diagnose_checkpoints"]

public(__all__, globals())
