"""The two-neuron network that approximates a run, solved at the same times."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from biasfree import theory
from biasfree.data import Dataset
from biasfree.trajectory import Trajectory
from biasfree_papers.types import Numbers

_RTOL = 1e-8


def beside(runs: Sequence[Trajectory], data: Dataset, *, loss: str) -> Numbers:
    """For every run the loss of its two neurons, as initialized and of equal size, with its error bound."""
    starts = [run[0] for run in runs]
    found, equal = (
        [
            theory.two_neuron_flow(start, data, run.ts, loss=loss, rtol=_RTOL)
            for start, run in zip(chosen, runs, strict=True)
        ]
        for chosen in (starts, [theory.aligned(start, data, both_signs_tolerance=1.0) for start in starts])
    )
    return {
        "pair": np.array([one.loss for one in found]),
        "equal_pair": np.array([one.loss for one in equal]),
        "pair_error": np.array([one.stats.evaluations * _RTOL for one in found]),
        "kept": np.array([kept(run) for run in runs]),
    }


def kept(run: Trajectory) -> float:
    """The norm of the initial weights, which linear terms do not shrink, over the final one: |W(0)|/|W|."""
    return float(np.linalg.norm(run[0].norms) / np.linalg.norm(run[-1].norms))
