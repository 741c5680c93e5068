"""Claims and a table on Frei et al.: one step, rank and boundary at the end, and what the theorem needs."""

from __future__ import annotations

from functools import partial

import numpy as np
import xarray

from biasfree.tables import Table
from biasfree_papers.experiment import Claim
from biasfree_papers.statements import observed, ours, paper, table

_LEVEL = "a level of ours: 4, twice the most that the limit can be"
_stated = partial(paper, source="Frei et al. 2022")


def claims(n: xarray.Dataset) -> list[Claim | Table]:
    """What is derived, then what the paper says, then what we saw."""
    return [_one_step(n), *_ranks(n), _margin(n), *_observed(n), _medians(n)]


def mixtures(n: xarray.Dataset, *, large: bool, smallest: bool = False) -> xarray.Dataset:
    """Runs from the paper's sizes of initial weights, or from the smallest of these."""
    chosen = (n.large == large) & (n.factor == n.smallest if smallest else n.factor != n.tiny)
    return n.isel(run=np.flatnonzero(chosen))


def _one_step(n: xarray.Dataset) -> Claim:
    after = n.ranks.isel(save=1)
    return ours(
        "after one step the stable rank lies between what the norms of ηG and of W₀, in the span of the "
        "samples and off it, allow",
        rank_over_its_upper_bound_or_lower_bound_over_it=np.maximum(after / n.high, n.low / after),
        at_most=1 + 10 * (2 * n.samples + n.width) * np.finfo(float).eps,
        source="derived here: triangle inequalities both ways in the span, and W₁W₁ᵀ = VVᵀ + RRᵀ for the "
        "constant rest R",
        bound="an inequality, to rounding",
        nature="identity",
        headline=True,
    )


def _ranks(n: xarray.Dataset) -> list[Claim]:
    large, small = (mixtures(n, large=large, smallest=True) for large in (True, False))
    return [
        _stated(
            f"from small initial weights, {float(n.smallest):g} of Xavier's, one step of "
            f"{float(n.large_step):g} in {int(n.dimension[-1])} dimensions makes the stable rank O(1), and "
            "it stays so throughout training",
            largest_stable_rank_after_any_step=large.ranks.isel(save=slice(1, None)).max("save"),
            at_most=4.0,
            bound=_LEVEL,
            headline=True,
        ),
        _stated(
            f"with growing dimension and step {float(n.step):g} small initial weights end at a low rank",
            last_stable_rank=small.end,
            at_most=4.0,
            bound=_LEVEL,
        ),
        _stated(
            "the decision boundary is linear at the end of runs from the smallest initial weights",
            share_of_points_with_the_sign_of_the_linear_part=small.linear,
            at_least=0.95,
            bound="the paper is about the limit, where it is 1; a level of ours: 0.95, for random points in "
            "the span and for held-out samples",
        ),
    ]


def _margin(n: xarray.Dataset) -> Claim:
    known = (n.off_side == 0).transpose("dimension", "seed")
    few = ", ".join(str(int(d)) for d in n.dimension[~known.all("seed")])
    far = (
        f"{int((~known).sum())} of {known.size} are undecided: there that network does not have this "
        f"activation pattern itself. They are in {few} dimensions, where inputs are farthest from orthogonal."
    )
    return _stated(
        "every sample is on the margin in the limit, the max-margin network whose neurons are on their side",
        share_of_samples_on_the_margin=n.on_margin.where(known),
        at_least=1.0,
        basis="stated",
        bound="the statement itself",
        headline=True,
        each="datasets",
        note=far if few else "",
    )


def _observed(n: xarray.Dataset) -> list[Claim]:
    small = mixtures(n, large=False).ranks
    return [
        observed(
            "the inputs are nearly orthogonal, n·max|x_i·x_j|/min|x_i|² ≪ 1, as the theorem needs",
            that_number=n.near_orthogonality,
            at_most=1.0,
            basis="derived",
            source="the condition of Frei et al. 2022, which their own runs do not meet",
            bound="1 is where the bound that we derive for the gradient becomes void (docs/neighbors.md)",
            note="Outside the theorem by this factor, in every dimension.",
            each="datasets",
        ),
        observed(
            f"with step {float(n.step):g} the paper's initial weights are not small: one step leaves half "
            "of the stable rank or more",
            stable_rank_after_over_before=small.isel(save=1) / small.isel(save=0),
            at_least=0.5,
            basis="chosen with runs at hand",
            source="measured here",
            bound="a level of ours: a half; the bounds by norms say as much",
        ),
    ]


def _medians(n: xarray.Dataset) -> Table:
    middle = n.median("seed")
    return table(
        "stable ranks of W₁, medians over seeds, and the share of points with the sign of the linear part",
        over="run",
        columns={
            "inputs": n.inputs,
            "step": n.large_step.where(n.large, n.step),
            "initial weights / Xavier's": n.factor,
            "before": middle.ranks.isel(save=0),
            "one step": middle.ranks.isel(save=1),
            "low bound": middle.low,
            "high bound": middle.high,
            "end": middle.end,
            "linear": middle.linear,
        },
    )
