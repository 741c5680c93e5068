"""Claims of the optimizers."""

from __future__ import annotations

import numpy as np
import xarray

from biasfree_papers.experiment import Claim
from biasfree_papers.optimizers.compute import WAYS
from biasfree_papers.statements import observed, ours

_KEPT = [name for name, way in WAYS.items() if way.batches != "split"]
_ALIKE = [name for name in _KEPT if WAYS[name].optimizer == "sgd"]
_LEAVES = 1e-3  # of the weights


def claims(n: xarray.Dataset) -> list[Claim]:
    """Which keep ReLU on its twin, which do not."""
    last = n.distance.isel(step=-1)
    rounding = 6 * np.sqrt(n.last_step * n.terms) * np.finfo(float).eps
    bound = (
        "rounding: six standard deviations of independent roundings, one per term of every sum (samples, "
        "neurons, inputs) and step"
    )
    return [
        ours(
            "from opposite pairs ReLU stays on its linear twin with descent, momentum, Nesterov, SGD on "
            "batches of mirror pairs, Adam and AdamW",
            largest_distance=n.distance.sel(start="opposite pairs", way=_KEPT).max("step"),
            at_most=rounding,
            source="derived here; [ZSL25] Thm. 5 for gradient flow",
            bound=bound,
            nature="theorem",
            headline=True,
        ),
        ours(
            "from rank one it stays there with descent, momentum, Nesterov and SGD on mirror pairs",
            largest_distance=n.distance.sel(start="rank one", way=_ALIKE).max("step"),
            at_most=rounding,
            source="derived here; [ZSL25] Thm. 5 for gradient flow",
            bound=bound,
            nature="theorem",
        ),
        observed(
            "from rank one Adam and AdamW leave the twin",
            last_distance=last.sel(start="rank one", way=["Adam", "AdamW"]),
            at_least=_LEAVES,
            source="measured here",
            bound="a level of ours: a thousandth of the weights",
            headline=True,
        ),
        observed(
            "batches that split mirror pairs leave the twin, at every size, on samples and on digits",
            last_distance=n.split_distance,
            at_least=_LEAVES,
            source="measured here",
            bound="a level of ours: a thousandth of the weights",
            headline=True,
        ),
    ]
