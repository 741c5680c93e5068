"""Claims and table: exact facts on orthogonal inputs, and the paper's two escapes and limit."""

from __future__ import annotations

import numpy as np
import xarray

from biasfree.tables import Table
from biasfree_papers.experiment import Claim
from biasfree_papers.statements import observed, ours, paper, table

_PAPER = "Boursier et al. (2022)"
_REPORTED = "as [ZSL25] App. A of v1 reports it"
_FIT, _RANK_ONE = 1e-6, 1e-2  # what is left of the loss of a fit; the share of |W₁|² off one direction
_LEVEL = "a level of ours; the paper is about γ → 0:"


def claims(n: xarray.Dataset) -> list[Claim | Table]:
    """Ours, then the paper's two escapes of the pair, then the norm of a dozen samples by kind of seed."""
    covered, others = excess(n)
    return [
        ours(
            "no network, trained on two or a dozen orthogonal samples, is shorter than the shortest one with "
            "its outputs",
            ratio_of_squared_norms=np.append(n.pair_norm / n.pair_least, n.norm / n.least),
            at_least=1 - 1e-12,
            source=f"{_PAPER}: biasfree_papers.shared.orthogonal_inputs.interpolator_norm",
            bound="the definition of the shortest one, to rounding",
            nature="identity",
            each="runs",
        ),
        ours(
            "no neuron becomes active on one of a dozen orthogonal samples that it was inactive on",
            pairs_that_did=n.gained.rename(draw="seed"),
            at_most=0.0,
            source="derived here: orthogonal inputs have no gradient there",
            bound="exact in floating point for inputs along the axes",
            nature="theorem",
        ),
        paper(
            "the pair: the loss falls in two steps, one for each sign of the targets",
            plateaus_left_less_2=abs(n.pair_falls - 2),
            at_most=0.0,
            basis="stated",
            source=_PAPER,
            bound="every scale and seed",
            headline=True,
        ),
        law(n.pair_measured, n.pair_rate),
        *_norms(covered.isel(gamma=0), others.isel(gamma=0)),
        *_ranks(n),
        _by_scale(n),
    ]


def excess(n: xarray.Dataset) -> list[xarray.DataArray]:
    """½|θ|² of the dozen over the least, less 1, from seeds followed over γ: covered ones, and others."""
    kinds = (n.excess.sel(followed=n.followed_covers == kind) for kind in (True, False))
    return [one.rename(followed="seed") for one in kinds]


def law(measured: xarray.DataArray, rate: xarray.DataArray) -> Claim:
    """t|D±| − ln(1/γ), the relative error of ln(1/γ)/|D±| times ln(1/γ), at the two least γ."""
    ln, gamma = -np.log(measured.gamma), measured.gamma.values
    constant = ((measured / (ln / rate) - 1) * ln).drop_vars("gamma")
    least, next_larger = constant.isel(gamma=0), constant.isel(gamma=1)
    error, size = abs(1 - ln[0] / (ln[0] + least)), abs(least)
    return paper(
        "the pair: both signs are learned at ln(1/γ)/|D±| to leading order; the rest, t|D±| − ln(1/γ), is "
        f"a constant, {float(size.min()):.2f} to {float(size.max()):.2f} at γ = {gamma[0]:g}, where the time "
        f"is {float(error.min()):.1%} to {float(error.max()):.1%} off",
        relative_change_of_the_constant=abs(next_larger / least - 1).max("sign"),
        at_most=0.05,
        source=_PAPER,
        bound=f"{_LEVEL} 5 % from γ = {gamma[1]:g}; the constant is about ln(√n±·γ/γ±) [derived here], n± "
        "neurons active on all samples of a sign and γ± their part of γ",
    )


def _norms(covered: xarray.DataArray, others: xarray.DataArray) -> list[Claim]:
    """Of seeds of either kind, where there are any."""
    least = paper(
        "a dozen samples, where neurons of either sign are active on all samples of it: the limit has the "
        "least norm",
        excess_of_the_squared_norm=covered,
        at_most=1e-2,
        source=_PAPER,
        bound=f"{_LEVEL} a hundredth at the least γ; it falls as γ^{{2(1−ρ)}}, ρ the rate of the next "
        "neurons over |D±| [derived here], which is slow",
        headline=True,
    )
    longer = observed(
        "a dozen samples, where no neuron is active on all samples of its sign: longer than the least, "
        "however small γ is",
        excess_of_the_squared_norm=others,
        at_least=1e-2,
        source="derived here to leading order: biasfree_papers.shared.escape_sequence.escape_sequence",
        bound="the level that covered seeds stay below, at the least γ",
        headline=True,
    )
    return [claim for claim, values in ((least, covered), (longer, others)) if values.size]


def _ranks(n: xarray.Dataset) -> list[Claim]:
    """Sentences of the appendix on ranks, of seeds that fit their samples."""
    fits, low = n.two_left < _FIT, n.two_off < _RANK_ONE
    seeds = tuple(n.draw.values)
    ends = [int((fits & low).sum()), int((fits & ~low).sum())]
    return [
        paper(
            "two orthogonal samples of one label, which one neuron fits: flow ends at the least rank of W₁, "
            f"one, from some initial weights, and at rank two from others; {ends[0]} and {ends[1]} of the "
            f"{sum(ends)} seeds that fit",
            seeds_of_either_rank=ends,
            at_least=1.0,
            basis="stated",
            source=f"Timor et al. (2023), {_REPORTED}: cases in which flow minimizes ranks, and others",
            bound="both cases occur; rank one is all but a hundredth of |W₁|² in one direction",
            each="ranks",
            seeds=seeds,
            rebuilt=True,
        ),
        paper(
            "inputs within 45° of a teacher neuron, fewer than their dimensions: networks that learn it have "
            "the least rank, one",
            share_of_W1_squared_off_rank_one=n.teacher_off.where(n.teacher_left < _FIT).rename(draw="seed"),
            at_most=_RANK_ONE,
            source=f"Chistikov et al. (2023), {_REPORTED}",
            bound=f"{_LEVEL} a hundredth, at the least γ",
            rebuilt=True,
        ),
        observed(
            "the rank on the two samples is one where a neuron of their sign is initially active on both, "
            "and two where none is",
            seeds_of_another_rank=int((fits & (low != n.two_both)).sum()),
            at_most=0.0,
            source="derived here as γ → 0: such neurons escape first, and fit both",
            bound="every seed that fits",
            each="counts",
            seeds=seeds,
        ),
    ]


def _by_scale(n: xarray.Dataset) -> Table:
    times = -np.log(n.gamma) / n.pair_rate, n.pair_predicted
    printed, derived = (abs(due / n.pair_measured - 1).max(["seed", "sign"]) for due in times)
    covered, others = (one.median("seed") for one in excess(n))
    return table(
        "As γ falls: largest relative errors of escape times for the pair, medians for a dozen, of which "
        f"{int(n.covers.sum())} of {n.sizes['draw']} seeds are covered",
        over="gamma",
        columns={
            "γ": n.gamma,
            "error of ln(1/γ)/|D±|": printed,
            "with n±, γ±": derived,
            "excess norm, covered": covered,
            "not covered": others,
        },
    )
