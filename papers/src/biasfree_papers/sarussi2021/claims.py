"""Claims and table on networks with a fixed second layer."""

from __future__ import annotations

import numpy as np
import xarray

from biasfree.tables import Table
from biasfree_papers.experiment import Claim
from biasfree_papers.sarussi2021.compute import EARLY
from biasfree_papers.shared.statistics import Exponent, fitted
from biasfree_papers.statements import observed, ours, paper, table


def claims(n: xarray.Dataset) -> list[Claim | Table]:
    """The linear model on mirrored data, what the paper says without them, and what was seen."""
    early, last = n.differ.sel(when="early", drop=True), n.isel(scale=0).sel(when="last", drop=True)
    leaky = last.variant_differ[((n.varied == "width") | (n.value > 0)).values]
    power = exponent(n)
    return [
        ours(
            "mirrored data, second layer fixed, W₁ = W₂ᵀvᵀ: gradient flow is that of a linear model at time "
            "c²|W₂|²t, for either loss",
            largest_relative_gap_of_W1=n.flow_gap,
            at_most=n.accuracy,
            source="derived here, by the proof of [ZSL25] Thm. 5 (TMLR 8)",
            bound="the simulator's own estimate, a sum of local errors that the flow of a convex loss does "
            "not amplify, and how far the solution is from one at a hundred times its tolerance",
            nature="theorem",
            headline=True,
            each="losses and leaks",
            seeds=(int(n.seed[0]),),
        ),
        paper(
            "from small weights leaky networks have a boundary close to that of a linear function",
            share_of_directions_in_which_f_and_its_linear_part_differ_in_sign=np.append(last.differ, leaky),
            at_most=0.05,
            source="Sarussi et al. (2021)",
            bound="a level of ours: 5 % of all directions, at the last time",
            note="Boundaries bend as margins grow: they were closer to linear before (table).",
            headline=True,
            each="runs",
        ),
        observed(
            f"boundaries are closer to linear from weights of scale {float(n.scale[0]):g} than from scale "
            f"{float(n.scale[-1]):g}, at t = {EARLY:g}",
            ratio_of_shares=early.isel(scale=0) / np.maximum(early.isel(scale=-1), 1e-12),
            at_most=1.0,
            basis="stated",
            source="observed here",
            bound="smaller",
        ),
        observed(
            "without mirror images, neurons of small weights end in more than two directions: close to "
            "linear boundaries do not need one direction for each sign",
            clusters_of_10_degrees=last.directions,
            at_least=3.0,
            basis="stated",
            source="observed here",
            bound="more than the two that mirrored data make; neurons of a sign stay apart, on different "
            "sides of samples near their hyperplanes",
        ),
        observed(
            "mirrored data: random weights end as far from the linear model as they started from it, so that "
            "|W₁ − W₂ᵀvᵀ|/|W₁| ∝ scale",
            distance_of_the_exponent_from_1=abs(power.estimate - 1),
            at_most=0.05,
            source="derived here to leading order: W₁ = W₁(0) + W₂ᵀvᵀ while |W₁(0)| is small",
            bound="a level of ours: a twentieth; mean and standard error over seeds "
            f"{power.estimate:.4f} ± {power.error:.1g}",
            headline=True,
            each="fits",
        ),
        _table(n),
    ]


def exponent(n: xarray.Dataset) -> Exponent:
    """The exponent p in distance from the linear model ∝ scaleᵖ, fitted to initial scales of at most 1."""
    small = n.scale.values <= 1
    return fitted(n.scale.values[small], n.gap.transpose("scale", "seed").values[small])


def _table(n: xarray.Dataset) -> Table:
    means = n[["differ", "directions"]].mean("seed")
    early, last = (means.sel(when=when, drop=True) for when in ("early", "last"))
    return table(
        "Samples and initial scale: means over seeds at the last time",
        over=("scale", "samples"),
        columns={
            "scale": n.scale,
            "samples": n.samples,
            "f and ℓ differ in sign": last.differ,
            f"at t = {EARLY:g}": early.differ,
            "directions": last.directions,
        },
    )
