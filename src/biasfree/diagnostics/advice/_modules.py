"""The table of layers in the report on a PyTorch model whose layers cannot be read as a network."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from biasfree.diagnostics._layers import layer_linearity
from biasfree.diagnostics.advice._report import Report
from biasfree.diagnostics.advice._samples import Samples
from biasfree.networks import is_module


def with_layers(report: Report, model: Any, samples: Samples | None, *, seed: int) -> Report:
    """The report with a table of the model's modules as functions; the same report for other models."""
    readable = report.subject is None or report.subject.network is not None
    if samples is None or readable or not is_module(model):
        return report
    x = samples.x.reshape(len(samples), *(samples.shape or samples.x.shape[1:]))
    try:
        found = layer_linearity(model, x, nonlinear_above=report.thresholds["nonlinear_above"], seed=seed)
    except KeyboardInterrupt:
        note = "interrupted: the layers were not measured; the report is complete without them."
        return replace(report, notes=(note, *report.notes))
    except Exception as error:  # hooks are not for every model; the report is complete without them
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        return replace(report, notes=(*report.notes, f"the layers could not be measured: {reason}"))
    notes = tuple(f"layers: {note}" for note in found.notes)
    return replace(report.with_table("modules", found.table()), notes=(*report.notes, *notes))
