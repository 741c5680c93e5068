"""The time course of the loss after the plateau, by Proposition 12 for a linear network and for each half."""

from __future__ import annotations

import numpy as np

from biasfree import networks, theory
from biasfree.data import Dataset
from biasfree_papers.types import Numbers

#: A part has left its plateau where its share of the target is so large.
_ESCAPED = 0.01


def course(ts: np.ndarray, sizes: np.ndarray, data: Dataset, *, speed: float) -> Numbers:
    """The mean loss of the parts whose `sizes` were measured at `ts`, each after its own escape."""
    fine = np.linspace(0, ts[-1], 4001)
    parts = [_part(fine, ts, size, data, speed) for size in sizes.T]
    return {"course_ts": fine, "course_loss": np.mean(parts, axis=0)}


def _part(fine: np.ndarray, ts: np.ndarray, sizes: np.ndarray, data: Dataset, speed: float) -> np.ndarray:
    """The loss of a linear network of three layers that grows along β, as in Theorem 13, from the escape.

    Before the escape its output is zero; the time of the escape is measured in the run.
    """
    loss = np.full(len(fine), np.mean(data.y**2) / 2)
    escaped = np.flatnonzero(sizes**3 > _ESCAPED * np.linalg.norm(theory.least_squares(data)))
    if len(escaped):
        first = escaped[0]
        start = networks.low_rank(data.beta, widths=(2, 2), scale=float(sizes[first]), leak=1.0)
        after = fine > ts[first]
        times = np.concatenate([[0.0], speed * (fine[after] - ts[first])])
        loss[after] = theory.deep_flow(start, data, times).loss[1:]
    return loss
