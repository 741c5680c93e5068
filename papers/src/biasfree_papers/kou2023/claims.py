"""Claims and a table on Kou et al.: orthogonal inputs by theory, then the paper on nearly orthogonal ones."""

from __future__ import annotations

from functools import partial

import numpy as np
import xarray

from biasfree.tables import Table
from biasfree_papers.experiment import Claim
from biasfree_papers.kou2023.compute import ORTHOGONAL
from biasfree_papers.statements import observed, ours, paper, table

_KOU = "Kou et al. 2023"
_ONE = "a level of ours: 2 %"
_AT_HAND = "chosen with runs at hand"


def claims(n: xarray.Dataset) -> list[Claim | Table]:
    """What is derived for orthogonal inputs, then what the paper says, then what we saw."""
    orthogonal, gaussian = n.sel(inputs=ORTHOGONAL), n.isel(inputs=slice(None, -1))
    return [*_derived(orthogonal), *_paper(gaussian), _constant(n), *_observed(gaussian), _medians(n)]


def _derived(n: xarray.Dataset) -> list[Claim]:
    """Activations, the constant part of W₁, margins, and the sign blocks with their bound."""
    terms, steps, eps = int(2 * n.samples + n.width), int(n.save[-1]), np.finfo(float).eps
    rounding = steps * terms * eps * float(abs(n.z).max())
    bracket = n.high - n.low + 2 * rounding
    return [
        ours(
            "on orthogonal inputs every activation ends as the initial weights predict: neurons on their "
            "side of all samples, and ReLU neurons inactive for ever where they were inactive",
            share_of_other_activations=n.unpredicted,
            at_most=0.0,
            source="derived here: w_h·x_i moves by a_h y_i φ′_hi|x_i|² times a positive number, and by "
            "nothing else",
            bound="exact",
            headline=True,
        ),
        ours(
            "on orthogonal inputs, while the activation pattern is fixed, W₁ is the shortest layer with its "
            "margins plus a constant",
            change_of_that_constant_over_the_norm=n.moved,
            at_most=eps / 2 * (steps + terms * np.sqrt(float(n.samples))),
            source="derived here: W₁ moves in the span of the gradients of the margins, of which the first "
            "part is",
            bound="rounding: half of machine epsilon times |W₁| per step, and times the terms of the sums in "
            "a step (samples, neurons, inputs) along the path; the path is at most √n|W₁| long, since "
            "gradients are orthogonal and their coefficients grow",
        ),
        ours(
            "on orthogonal inputs margins grow as z + e^z = ct + constant, each by itself: all tend to ln t, "
            "normalized ones to one value, and the loss to the mean of 1/(ct); brackets are "
            f"{float((n.high - n.low).max()):.1g} wide or less",
            distance_from_the_middle_of_the_bracket_in_half_widths=(
                abs(2 * n.z - n.low - n.high) / bracket
            ).max("sample"),
            at_most=1.0,
            source=f"derived here, with the error of a finite step; {_KOU} for the equal margins and 1/t",
            bound="from the step on from which the pattern is fixed z + e^z grows per step by ηc at least "
            "and ηc(e^δ − 1)/δ at most, δ a bound on the step of z that falls from doubling to doubling; "
            "brackets include rounding",
        ),
        ours(
            "on orthogonal inputs a sign block ends at the stable rank of its margins and activations, which "
            "is 1 for leaky neurons",
            distance=n.off,
            at_most=n.most_off + 10 * terms * eps,
            source=f"derived here; {_KOU} for rank one",
            bound="bf.theory.neighbors.perturbed_stable_rank: by what angle the constant part of the block, "
            "which the logarithm of time outgrows, can turn it",
            each="blocks",
        ),
        ours(
            "on orthogonal inputs that stable rank is at most the weighted mean over samples of neurons over "
            "active ones, weights (z_i/|x_i|)², about 2 for ReLU neurons active on half of the samples",
            ratio_to_it=n.ideal / n.ceiling,
            at_most=1 + 10 * terms * eps,
            source=f"derived here: a Rayleigh quotient with the vector of ones; {_KOU} for its being bounded",
            bound="an inequality, to rounding",
            identity=True,
            each="blocks",
        ),
    ]


def _of(values: xarray.DataArray, chosen: xarray.DataArray) -> xarray.DataArray:
    """The values of some of the runs."""
    return xarray.DataArray(values.values[chosen.broadcast_like(values).transpose(*values.dims)], dims="run")


def _paper(n: xarray.Dataset) -> list[Claim]:
    stated = partial(paper, source=_KOU, basis=_AT_HAND)
    near, half = n.near_orthogonality < 1, n.sizes["save"] // 2
    where = "on nearly orthogonal Gaussian inputs, n·max|x_i·x_j|/min|x_i|² < 1,"
    late = n.ranks.isel(save=slice(half, None)).max(("save", "block"))
    found = n.exponent.isel(inputs=-1)
    words = ", ".join(
        f"{mean:.4f} ± {error:.4f} for leak {leak:g}"
        for mean, error, leak in zip(found.mean("seed"), _error(found), n.leak.values, strict=True)
    )
    return [
        stated(
            f"leaky ReLU: {where} the stable rank of either sign block tends to 1",
            larger_of_both_at_the_end=_of(_last(n), near & (n.leak > 0)),
            at_most=1.02,
            bound=f"the paper is about the limit; {_ONE}",
            headline=True,
        ),
        stated(
            f"ReLU: {where} the stable rank of either sign block stays bounded",
            largest_over_the_later_half_of_the_saved_steps=_of(late, near & (n.leak == 0)),
            at_most=3.0,
            bound="a level of ours: 3, one and a half times where neurons end that are active on half of the "
            "samples",
        ),
        stated(
            f"{where} normalized margins become equal, for leaky ReLU and ReLU",
            last_spread_over_that_at_the_first_step=_of(n.spread[..., -1] / n.spread[..., 1], near),
            at_most=0.5,
            bound="the paper is about the limit, which is approached as 1/ln t; a level of ours: a half",
        ),
        stated(
            f"{where} the loss falls as 1/t; means of the exponent and standard errors over seeds in "
            f"{n.inputs.values[-1]} dimensions: {words}",
            distance_of_the_exponent_from_minus_one=_of(abs(n.exponent + 1), near),
            at_most=0.02,
            bound="corrections to the law are of order ln(ct)/(ct), and larger than the errors over seeds; a "
            "level of ours: 0.02",
            headline=True,
        ),
    ]


def _last(n: xarray.Dataset) -> xarray.DataArray:
    """The larger stable rank of both sign blocks at the end."""
    return n.ranks.isel(save=-1).max("block")


def _error(found: xarray.DataArray) -> xarray.DataArray:
    """The standard error of the mean over seeds; NaN for one seed."""
    seeds = found.sizes["seed"]
    return found.std("seed", ddof=min(1, seeds - 1)) / np.sqrt(seeds) * (1 if seeds > 1 else np.nan)


def ratio(n: xarray.Dataset) -> xarray.DataArray:
    """Loss times t over its constant, along every run."""
    return n.loss * n.save * n.step / n.constant


def _constant(n: xarray.Dataset) -> Claim:
    return observed(
        "loss·t tends to Σλ_i, the squared norm of the max-margin network of margin 1 with the last "
        "activation pattern",
        distance_of_their_ratio_from_one=abs(ratio(n).isel(save=-1) - 1),
        at_most=0.1,
        source="derived here to leading order, for a fixed pattern and samples that are all on the margin",
        bound="leading order; a level of ours: 10 %",
        basis=_AT_HAND,
    )


def _observed(n: xarray.Dataset) -> list[Claim]:
    return [
        observed(
            "outside near-orthogonality, of which the paper does not speak, leaky blocks end above rank one: "
            "some neurons stay on the wrong side of a sample",
            larger_stable_rank_of_both_at_the_end=_of(_last(n), (n.near_orthogonality >= 1) & (n.leak > 0)),
            at_least=1.02,
            source="measured here",
            bound=_ONE,
            basis=_AT_HAND,
        ),
        observed(
            "on nearly orthogonal inputs activations of small ReLU networks do not end as they do on "
            "orthogonal ones: the force of other samples and the initial weights both fall as d^(−1/2)",
            share_of_activations_not_predicted=_of(n.unpredicted, n.leak == 0),
            at_least=0.05,
            source="measured here",
            bound="a level of ours: 5 %",
            basis=_AT_HAND,
            note="So their stable rank ends below that on orthogonal inputs, as far as these dimensions go.",
        ),
    ]


def _medians(n: xarray.Dataset) -> Table:
    middle = n.median("seed")
    blocks = {"a > 0": 0, "a < 0": 1}
    return table(
        "medians over seeds: stable ranks of the sign blocks of W₁, margins and loss; means of exponents",
        over=("inputs", "leak"),
        columns={
            "inputs": n.inputs,
            "n·max|x·x'|/min|x|²": middle.near_orthogonality,
            "leak": n.leak,
            **{f"end, {name}": middle.ranks.isel(save=-1, block=i) for name, i in blocks.items()},
            **{f"limit, {name}": middle.limit.isel(block=i) for name, i in blocks.items()},
            "spread": middle.spread.isel(save=-1),
            "1 + exponent": 1 + n.exponent.mean("seed"),
            "± standard error": _error(n.exponent),
            "of the flow on ⊥": 1 + middle.law,
            "loss·t/Σλ": ratio(n).isel(save=-1).median("seed"),
            "activations not predicted": middle.unpredicted,
        },
    )
