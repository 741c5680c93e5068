"""Advice on a model and its data: `diagnose`, its report, and the trend over checkpoints."""

from biasfree.arguments import exported
from biasfree.diagnostics.advice._checkpoints import diagnose_checkpoints
from biasfree.diagnostics.advice._diagnose import diagnose

__all__ = ["diagnose", "diagnose_checkpoints"]

exported(__all__, globals())
