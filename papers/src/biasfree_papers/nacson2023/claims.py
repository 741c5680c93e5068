"""Claims and table on steps and the minima that descent reaches."""

from __future__ import annotations

from typing import Any

import xarray

from biasfree.tables import Table
from biasfree_papers.experiment import Claim
from biasfree_papers.statements import ours, paper, table

_PAPER = "Nacson et al. 2023"
_ACROSS: Any = ("rung", "seed")


def claims(n: xarray.Dataset) -> list[Claim | Table]:
    """What is derived, and the paper's law of the norm."""
    return [_stable(n), _norm_bound(n), _ceiling(n), _falls(n), _by_set(n)]


def _stable(n: xarray.Dataset) -> Claim:
    settled = n.settled.values
    counts = zip(n.set.values, n.settled.sum(_ACROSS).values, n.converged.sum(_ACROSS).values, strict=True)
    each = ", ".join(f"{name} {few} of {there}" for name, few, there in counts)
    return ours(
        "off all kinks descent settles, so that no kick grows, only where the sharpness is at most 2/η",
        sharpness_times_half_the_step=n.sharpness_ratio.values[settled],
        at_most=n.stability_bound.values[settled] if settled.any() else 1.0,
        source=f"{_PAPER}; derived here: a step multiplies residuals along that direction by 1 − ηλ",
        bound="1, and what a run can tell: a kick of which a share p is along the sharpest direction, and "
        f"whose residual is at none of the n = {int(n.kicked)} steps after it larger than at first, allows "
        "ln(1/p)/2n more, and the change of the kernel within its reach",
        nature="prediction",
        headline=True,
        each="runs",
        note=f"About these minima: {each}. The others have a neuron on a kink or within reach of a kick of "
        f"one; from {int(n.growing.sum())} off all kinks the kick grows.",
    )


def _norm_bound(n: xarray.Dataset) -> Claim:
    """Only for sets that no half-plane misses."""
    chosen = (n.settled & (n.least_gain > 0)).values
    ratio = (n.norm * n.step * n.least_gain).values
    return ours(
        "where every half-plane holds a sample, Σ|a||w| is at most 1/(η·min g) at minima off all kinks that "
        "descent settles at, with g(w) = (w·S)|S|/P², S the sum of the samples that w is active on",
        ratio=ratio[chosen],
        at_most=n.stability_bound.values[chosen] + 1e-8 if chosen.any() else 1.0,
        source="derived here: sharpness is at least 2Σ|a|g(w), by the quotient of the Hessian on Gᵀ1 and "
        "|u|² + |v|² ≥ 2|u||v| neuron by neuron",
        bound="as for the sharpness; min g over unit vectors is exact, at an end of a cone of directions",
        nature="prediction",
        each="runs",
    )


def _ceiling(n: xarray.Dataset) -> Claim:
    some = n.settled.any(_ACROSS)
    return ours(
        "no network of any width settles off all kinks at a step above η_c = 2/(least sharpness) of all that "
        "interpolate",
        largest_step_over_it=n.rung.where(n.settled).max(_ACROSS)[some],
        at_most=n.stability_bound.where(n.settled).max(_ACROSS)[some] if some.any() else 1.0,
        source="derived here: biasfree_papers.nacson2023.stable_minima.least_sharpness",
        bound="1, as for the sharpness; the least sharpness is a semidefinite program, bounded by its dual",
        nature="prediction",
        headline=True,
        each="sets",
        note="On a kink it is not derived; no run converged, on kinks or off, above "
        f"{float(n.largest_stable.max()):.3g}.",
    )


def _falls(n: xarray.Dataset) -> Claim:
    return paper(
        "the norm Σ|a||w| of the minimum falls as the step grows, in the median over seeds",
        norm_at_the_largest_stable_step_over_that_at_the_least=n.norm_share.median("seed"),
        at_most=1.0,
        basis="stated",
        source=_PAPER,
        bound="the paper gives no number: it falls",
        headline=True,
    )


def _by_set(n: xarray.Dataset) -> Table:
    largest = n.largest_stable
    return table(
        f"Set by set, {n.sizes['seed']} seeds: minima that descent ends at, and the largest step at which a "
        "seed converges, over η_c",
        over="set",
        columns={
            "set": n.set,
            "η_c, median": n.ceiling.median("seed"),
            "minima": n.converged.sum(_ACROSS),
            "settled off all kinks": n.settled.sum(_ACROSS),
            "largest step, median": largest.median("seed"),
            "least": largest.min("seed"),
            "most": largest.max("seed"),
            "norm there/at the least step, median": n.norm_share.median("seed"),
        },
    )
