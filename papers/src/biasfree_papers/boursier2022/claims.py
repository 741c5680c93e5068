"""Claims and tables: exact facts on orthogonal inputs, and the paper's alignment, escapes and limit."""

from __future__ import annotations

import numpy as np
import xarray

from biasfree.tables import Table
from biasfree_papers.experiment import Claim
from biasfree_papers.statements import observed, ours, paper, table

_PAPER = "Boursier et al. (2022)"
_SEQUENCE = "derived here to leading order: bf.theory.neighbors.escape_sequence"
_LEVEL = "a level of ours; the paper is about γ → 0:"


def claims(n: xarray.Dataset) -> list[Claim | Table]:
    """Ours, then the paper's phases in the order of time, then a dozen samples by kind of seed."""
    covered, others = followed(n)
    return [
        *_exact(n),
        *_pair(n),
        *(_covered(covered) if covered.sizes["seed"] else []),
        *(_not_covered(others) if others.sizes["seed"] else []),
        _kinds(n),
        _by_scale(n, covered, others),
    ]


def followed(n: xarray.Dataset) -> list[xarray.Dataset]:
    """The dozen samples followed over γ: from seeds that are covered, and from others."""
    names = {name: name.removeprefix("followed_") for name in map(str, n) if name.startswith("followed_")}
    dozen = n[[*names]].rename(names | {"followed": "seed"})
    return [dozen.sel(seed=dozen.covers.isel(gamma=0, drop=True) == kind) for kind in (True, False)]


def _exact(n: xarray.Dataset) -> list[Claim]:
    pair, dozen = n.pair_norm / n.pair_least, n.norm / n.least
    return [
        ours(
            "no neuron becomes active on one of a dozen orthogonal samples that it was inactive on",
            pairs_that_did=n.gained.rename(draw="seed"),
            at_most=0.0,
            source="derived here: orthogonal inputs have no gradient there",
            bound="exact in floating point for inputs along the axes",
        ),
        ours(
            "no network, trained on two or a dozen orthogonal samples, is shorter than the shortest one with "
            "its outputs",
            ratio_of_squared_norms=np.append(pair, dozen),
            at_least=1 - 1e-12,
            source=f"{_PAPER}: bf.theory.neighbors.interpolator_norm",
            bound="the definition of the shortest one, to rounding",
            identity=True,
            each="runs",
        ),
    ]


def _pair(n: xarray.Dataset) -> list[Claim]:
    at = n.isel(gamma=int(np.argmin(np.abs(np.log(n.gamma.values / n.scale.values)))))
    return [
        paper(
            "the pair: neurons are aligned long before they escape; those active on the samples of their "
            "sign have turned to D₊ or −D₋ half way",
            largest_angle_in_degrees=at.pair_angle.max("sign"),
            at_most=1.0,
            source=_PAPER,
            bound=f"{_LEVEL} one degree at γ = {float(at.gamma):g}; it falls as √γ [derived here]",
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
        _law("the pair", n.pair_measured, n.pair_rate),
        paper(
            "the pair ends at the interpolator of least norm",
            excess_of_the_squared_norm=abs(n.pair_norm / n.pair_minimum - 1).isel(gamma=0),
            at_most=1e-2,
            source=_PAPER,
            bound=f"{_LEVEL} a hundredth at the least γ",
        ),
    ]


def _law(name: str, measured: xarray.DataArray, rate: xarray.DataArray, note: str = "") -> Claim:
    """t|D±| − ln(1/γ), the relative error of ln(1/γ)/|D±| times ln(1/γ), at the two least γ."""
    ln, gamma = -np.log(measured.gamma), measured.gamma.values
    constant = ((measured / (ln / rate) - 1) * ln).drop_vars("gamma")
    least, next_larger = constant.isel(gamma=0), constant.isel(gamma=1)
    error, size = abs(1 - ln[0] / (ln[0] + least)), abs(least)
    return paper(
        f"{name}: both signs are learned at ln(1/γ)/|D±| to leading order; the rest, t|D±| − ln(1/γ), is "
        f"a constant, {float(size.min()):.2f} to {float(size.max()):.2f} at γ = {gamma[0]:g}, where the time "
        f"is {float(error.min()):.1%} to {float(error.max()):.1%} off",
        relative_change_of_the_constant=abs(next_larger / least - 1).max("sign"),
        at_most=0.05,
        source=_PAPER,
        bound=f"{_LEVEL} 5 % from γ = {gamma[1]:g}; the constant is about ln(√n±·γ/γ±) [derived here], n± "
        "neurons active on all samples of a sign and γ± their part of γ",
        note=note,
    )


def _covered(n: xarray.Dataset) -> list[Claim]:
    """Some neuron of either sign is active on all samples of that sign."""
    last = n.isel(gamma=0)
    return [
        _law(
            "a dozen samples, covered",
            n.measured,
            n.rate,
            "neurons active on nearly all samples of a sign grow nearly as fast as those active on all, and "
            "take a share: the constant is reached slowly, from seed 300 with a change of 10 % in one of "
            "three seeds",
        ),
        paper(
            "a dozen samples, where neurons of either sign are active on all samples of it: the limit has "
            "the least norm",
            excess_of_the_squared_norm=last.norm / last.minimum - 1,
            at_most=1e-2,
            source=_PAPER,
            bound=f"{_LEVEL} a hundredth at the least γ; it falls as γ^{{2(1−ρ)}}, ρ the rate of the next "
            "neurons over |D±| [derived here], which is slow",
            headline=True,
        ),
        observed(
            "there, n± and γ± give the escape times at the least γ",
            largest_relative_error=abs(last.predicted / last.measured - 1).max("sign"),
            at_most=0.01,
            source="derived here to leading order: bf.theory.neighbors.escape_times",
            bound="a level of ours: a hundredth",
        ),
    ]


def _not_covered(n: xarray.Dataset) -> list[Claim]:
    ratio, apart = n.norm / n.minimum - 1, abs(n.norm / n.limit - 1)
    low, high = float(apart[0].min()), float(apart[0].max())
    return [
        observed(
            "a dozen samples, where no neuron is active on all samples of its sign: longer than the least, "
            "however small γ is",
            excess_of_the_squared_norm=ratio.isel(gamma=0),
            at_least=1e-2,
            source=_SEQUENCE,
            bound="the level that covered seeds stay below, at the least γ",
            headline=True,
        ),
        observed(
            "there, ½|θ|² moves to the sum that neurons reach which escape one by one as γ → 0",
            distance_at_the_least_γ_over_that_at_the_largest=apart[0] / apart[-1],
            at_most=1.0,
            basis="chosen with runs at hand",
            source=_SEQUENCE,
            bound="nearer, as no fixed share would do for all seeds: at γ = 1e-24 0.1 to 3 % are missing "
            "from seed 0, 6 to 8 % from 500 and 0.1 to 10 % from 1000, and from both of these one seed of "
            "five is no nearer than at γ = 1e-3. Neurons of nearly equal rates share samples at any γ; here "
            f"{low:.1%} to {high:.1%} are missing at the least γ",
        ),
    ]


def _kinds(n: xarray.Dataset) -> Table:
    kinds = xarray.DataArray([True, False], dims="kind")
    ratio = (n.norm / n.minimum).where(n.covers == kinds)
    return table(
        f"½|θ|² over that of the shortest interpolator, γ = {float(n.scale):g}",
        over="kind",
        columns={
            "a dozen samples": xarray.where(kinds, "covered", "not covered"),
            "seeds": (n.covers == kinds).sum("draw"),
            "least": ratio.min("draw"),
            "median": ratio.median("draw"),
            "largest": ratio.max("draw"),
        },
    )


def _by_scale(n: xarray.Dataset, covered: xarray.Dataset, others: xarray.Dataset) -> Table:
    printed = -np.log(n.gamma) / n.pair_rate
    error, derived = (abs(due / n.pair_measured - 1) for due in (printed, n.pair_predicted))
    excess = [(one.norm / one.minimum - 1).median("seed") for one in (covered, others)]
    return table(
        "As γ falls: largest relative errors for the pair, medians for a dozen",
        over="gamma",
        columns={
            "γ": n.gamma,
            "error of ln(1/γ)/|D±|": error.max(["seed", "sign"]),
            "with n±, γ±": derived.max(["seed", "sign"]),
            "angle half way (degrees)": n.pair_angle.max(["seed", "sign"]),
            "excess norm, covered": excess[0],
            "not covered": excess[1],
        },
    )
