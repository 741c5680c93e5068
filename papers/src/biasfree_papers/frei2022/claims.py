"""Claims and tables on Frei et al.: one step, the paper's statements, and what its conditions need."""

from __future__ import annotations

from functools import partial

import numpy as np
import xarray

from biasfree.tables import Table
from biasfree_papers.experiment import Claim
from biasfree_papers.frei2022.compute import expected_near_orthogonality
from biasfree_papers.statements import observed, ours, paper, table

_FREI = "Frei et al. 2022"
_stated = partial(paper, source=_FREI)
_LOW = 4.0  # stable rank that we call low: twice the most that the limit can be
_LEVEL = f"a level of ours: {_LOW:g}, twice the most that the limit can be"


def claims(n: xarray.Dataset) -> list[Claim | Table]:
    """What is derived, then what the paper says, then what we saw."""
    return [*_derived(n), *_ranks(n), *_boundary(n), *_observed(n), *_tables(n)]


def mixtures(n: xarray.Dataset, *, large: bool, smallest: bool = False) -> xarray.Dataset:
    """Runs on mixtures from the paper's sizes of initial weights, or from the smallest of these."""
    chosen = (n.large == large) & (n.factor == n.smallest if smallest else n.factor != n.tiny)
    return n.isel(run=np.flatnonzero(chosen))


def _derived(n: xarray.Dataset) -> list[Claim]:
    after = n.ranks.isel(save=1)
    rounding = 10 * (2 * n.samples + n.width) * np.finfo(float).eps
    return [
        ours(
            "after one step the stable rank lies between what the norms of ηG and of W₀, in the span of the "
            "samples and off it, allow",
            rank_over_its_upper_bound_or_lower_bound_over_it=np.maximum(after / n.high, n.low / after),
            at_most=1 + rounding,
            source="derived here: triangle inequalities both ways in the span, and W₁W₁ᵀ = VVᵀ + RRᵀ for the "
            "constant rest R",
            bound="an inequality, to rounding",
            identity=True,
            headline=True,
        ),
        ours(
            "on orthogonal inputs the gradient at the initial weights has a stable rank of at most ΣA_i v_i/"
            "Σκ_i² v_i, v_i = (|x_i|/(1 + e^{z_i}))² with z_i the margins",
            stable_rank=n.gradient,
            at_most=n.ceiling * (1 + rounding),
            source="derived here, with factors (1 ± ε) for nearly orthogonal inputs, ε = "
            f"n·max|x_i·x_j|/min|x_i|² < 1; after {_FREI}",
            bound="|G|_F² over |aᵀG|²/|a|²; A_i = Σ_h a_h²φ′_hi², κ_i = Σ_h a_h²φ′_hi/|a|. It is at most "
            "(1 + α)²/4α for any weights, and 2(1 + α²)/(1 + α)² for neurons active on half of the samples",
            identity=True,
        ),
        ours(
            "on orthogonal inputs, from tiny initial weights, the stable rank ends as near to its limit, for "
            "equal norms, counts and signs 2(1 + α²)/(1 + α)², as the memory of the first steps allows",
            distance=n.off,
            at_most=n.most_off + rounding,
            source=f"bf.theory.neighbors.stable_rank_limit, derived here; {_FREI} for the network at the end",
            bound="bf.theory.neighbors.perturbed_stable_rank: by what angle the constant part of W₁, "
            "Frobenius-orthogonal to what grows, and unequal margins can turn it, as measured; both fall as "
            "1/ln t",
        ),
    ]


def _ranks(n: xarray.Dataset) -> list[Claim]:
    large, small = (mixtures(n, large=large, smallest=True) for large in (True, False))
    ends, last = mixtures(n, large=True).end, int(n.dimension[-1])
    return [
        _stated(
            f"from small initial weights, {float(n.smallest):g} of Xavier's, one step of "
            f"{float(n.large_step):g} in {last} dimensions makes the stable rank O(1), and it stays so "
            "throughout training",
            largest_stable_rank_after_any_step=large.ranks.isel(save=slice(1, None)).max("save"),
            at_most=_LOW,
            bound=_LEVEL,
            headline=True,
        ),
        _stated(
            "the smaller the initial weights, the lower the rank that descent finds",
            least_ratio_of_last_ranks_of_neighboring_sizes=(ends.shift(run=-1) / ends).min("run"),
            at_least=1.0,
            basis="stated",
            bound="the order itself",
        ),
        _stated(
            f"with growing dimension and step {float(n.step):g} small initial weights end at a low rank",
            last_stable_rank=small.end,
            at_most=_LOW,
            bound=_LEVEL,
        ),
        _stated(
            "on orthogonal inputs, from tiny weights and with small steps, the rank tends to two at most",
            last_share_of_the_energy_beyond_rank_two=n.beyond.isel(case=slice(None, -1)),
            at_most=0.01,
            bound="the paper is about the limit of the flow, where it is 0; a level of ours: 1 %",
        ),
    ]


def _boundary(n: xarray.Dataset) -> list[Claim]:
    known, small = n.off_side == 0, mixtures(n, large=False, smallest=True)
    few = ", ".join(str(int(d)) for d in n.dimension[~known.all("seed")])
    return [
        _stated(
            "the decision boundary is linear at the end of runs from the smallest initial weights",
            share_of_points_with_the_sign_of_the_linear_part=small.linear,
            at_least=0.95,
            bound="the paper is about the limit, where it is 1; a level of ours: 0.95, for random points in "
            "the span and for held-out samples",
        ),
        _stated(
            f"it is close to the linear classifier of largest margin in {int(n.dimension[-1])} dimensions",
            angle_in_degrees=mixtures(n, large=True, smallest=True).angle,
            at_most=8.1,
            bound="a level of ours: a cosine of 0.99",
        ),
        _stated(
            "every sample is on the margin in the limit, the max-margin network whose neurons are on their "
            f"side, for the {int(known.sum())} of {known.size} datasets for which that network has this "
            f"activation pattern itself; {int((~known).sum())} are undecided",
            share_of_samples_on_the_margin=n.on_margin.values[known.values],
            at_least=1.0,
            basis="stated",
            bound="the statement itself",
            headline=True,
            each="datasets",
            note=f"Undecided are datasets in {few} dimensions, where inputs are farthest from orthogonal."
            if few
            else "",
        ),
    ]


def _observed(n: xarray.Dataset) -> list[Claim]:
    d, large = np.geomspace(10 * int(n.samples), 1e12, 4000), n.isel(case=-1)
    ratio, small = expected_near_orthogonality(d, int(n.samples)), mixtures(n, large=False).ranks
    first, tenth = (d[np.argmax(ratio <= level)] for level in (1.0, 0.1))
    return [
        observed(
            "the inputs are nearly orthogonal, n·max|x_i·x_j|/min|x_i|² ≪ 1, as the theorem needs; it is "
            f"expected to fall to 1 at {first:.1g} and to 0.1 at {tenth:.1g} dimensions",
            that_number=n.near_orthogonality,
            at_most=1.0,
            basis="derived",
            source=f"the condition of {_FREI}, which their own runs do not meet",
            bound="1 is where the bound that we derive for the gradient becomes void",
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
        observed(
            "on orthogonal inputs the large step ends below the limit: its first step, with random "
            "activation patterns, is nearly of rank one and remembered",
            limit_less_the_last_stable_rank=large.limit - large.orthogonal_end,
            at_least=0.0,
            basis="stated",
            source="measured here; the constant part of W₁ is derived",
            bound="its sign",
        ),
    ]


def _tables(n: xarray.Dataset) -> list[Table]:
    m, middle = n.width, n.median("seed")
    size = n.limit_size.sel(dimension=n.inputs)
    # z²Σλ_i = |W₀|_F², of which 2HD·factor²/(D + H) is the mean
    outweigh = np.sqrt(2 * m * n.inputs / (n.inputs + m) * n.factor**2 / size)
    return [
        table(
            "mixtures, medians over seeds: stable ranks of W₁; the margin z at which training would weigh as "
            "much as the initial weights, after a time of e^z; angle in degrees to the largest margin",
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
                "end, a > 0": middle.end_positive,
                "z to outweigh W₀": outweigh.median("seed").drop_vars("dimension"),
                "angle": middle.angle,
                "linear": middle.linear,
            },
        ),
        table(
            "mixtures: the max-margin network whose neurons are on their side of all samples",
            over="dimension",
            columns={
                "inputs": n.dimension,
                "n·max|x·x'|/min|x|²": middle.near_orthogonality,
                "stable rank": middle.limit_rank,
                "angle (degrees)": middle.limit_angle,
                "on the margin": middle.on_margin,
                "seeds with all on the margin": (n.on_margin == 1).sum("seed"),
                "activations off their side": middle.off_side,
                "seeds with none": (n.off_side == 0).sum("seed"),
            },
        ),
        table(
            "orthogonal inputs, medians over seeds: stable ranks of W₁",
            over="case",
            columns={
                "step": n.case_step,
                "leak": n.case_leak,
                "gradient": middle.gradient,
                "one step": middle.orthogonal_ranks.isel(save=1),
                "end": middle.orthogonal_end,
                "limit": middle.limit,
                "beyond rank two": middle.beyond,
            },
        ),
    ]
