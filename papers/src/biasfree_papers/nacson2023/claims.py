"""Claims and a table on steps and the minima that descent reaches."""

from __future__ import annotations

from math import comb
from typing import Any

import numpy as np
import xarray

from biasfree.tables import Table
from biasfree_papers.experiment import Claim
from biasfree_papers.nacson2023.compute import OUTCOMES
from biasfree_papers.shared.exponents import mean_and_error, written
from biasfree_papers.statements import observed, ours, paper, table

_PAPER = "Nacson et al. 2023"
_FINITE = 1e-3  # of 2/η, by which a finite run may exceed it


def claims(n: xarray.Dataset) -> list[Claim | Table]:
    """What is derived, the paper's two laws, and what we saw of single seeds and on kinks."""
    derived = [_stable(n), _norm_bound(n), _ceiling(n)]
    return [*derived, _off_kinks(n), _medians(n), _falls(n), _power(n), _on_kinks(n), _sets(n)]


def _at(values: xarray.DataArray, chosen: xarray.DataArray) -> np.ndarray:
    """The values at the runs that are chosen."""
    return values.broadcast_like(chosen).transpose(*chosen.dims).values[chosen.values]


def _stable(n: xarray.Dataset) -> Claim:
    settled, there = n.settled.sum(("rung", "seed")), (n.outcome == 0).sum(("rung", "seed"))
    each = ", ".join(
        f"{name} {int(settled.sel(set=name))} of {int(there.sel(set=name))}" for name in n.set.values
    )
    return ours(
        "off all kinks descent settles, so that no kick grows, only where the sharpness is at most 2/η",
        sharpness_times_half_the_step=_at(n.sharpness_ratio, n.settled),
        at_most=_at(n.stability_bound, n.settled) if n.settled.any() else 1.0,
        source=f"{_PAPER}; derived here: a step multiplies residuals along that direction by 1 − ηλ",
        bound="1, and what a run can tell: a kick of which a share p is along the sharpest direction, and "
        f"whose residual is at none of the n = {int(n.kicked)} steps after it larger than at first, allows "
        "ln(1/p)/2n more, and the change of the kernel within its reach",
        headline=True,
        each="runs",
        note=f"About these minima: {each}. The others have a neuron on a kink or within reach of a kick of "
        f"one; from {int(n.growing.sum())} off all kinks the kick grows.",
    )


def _norm_bound(n: xarray.Dataset) -> Claim:
    """Only for sets that no half-plane misses."""
    chosen = n.settled & (n.least_gain > 0).broadcast_like(n.settled).transpose(*n.settled.dims)
    return ours(
        "where every half-plane holds a sample, Σ|a||w| is at most 1/(η·min g) at minima off all kinks that "
        "descent settles at, with g(w) = (w·S)|S|/P², S the sum of the samples that w is active on",
        ratio=_at(n.norm * n.step * n.least_gain, chosen),
        at_most=_at(n.stability_bound, chosen) + 1e-8 if chosen.any() else 1.0,
        source="derived here: sharpness is at least 2Σ|a|g(w), by the quotient of the Hessian on Gᵀ1 and "
        "|u|² + |v|² ≥ 2|u||v| neuron by neuron",
        bound="as for the sharpness; min g over unit vectors is exact, at an end of a cone of directions",
        each="runs",
    )


def _ceiling(n: xarray.Dataset) -> Claim:
    some = n.settled.any(("rung", "seed"))
    reached = n.rung.where(n.settled).max(("rung", "seed"))
    most = float(n.rung.where(n.outcome == 0).max())
    return ours(
        "no network of any width settles off all kinks at a step above η_c = 2/(least sharpness) of all that "
        "interpolate",
        largest_step_over_it=reached[some],
        at_most=n.stability_bound.where(n.settled).max(("rung", "seed"))[some] if some.any() else 1.0,
        source="derived here: bf.theory.neighbors.least_sharpness",
        bound="1, as for the sharpness; the least sharpness is a semidefinite program, bounded by its dual",
        headline=True,
        each="sets",
        note=f"On a kink it is not derived; no run converged, on kinks or off, above {most:.3g}.",
    )


def _off_kinks(n: xarray.Dataset) -> Claim:
    return paper(
        "at the minimum where descent ends, off all kinks, where the loss has a Hessian, the sharpness is at "
        "most 2/η",
        sharpness_times_half_the_step=_at(n.sharpness_ratio, n.settled | n.growing),
        at_most=1 + _FINITE,
        basis="stated",
        source=_PAPER,
        bound=f"the paper's law; {_FINITE:g} since runs are finite",
        each="runs",
    )


def _medians(n: xarray.Dataset) -> Claim:
    return paper(
        "the norm Σ|a||w| of the minimum falls as the step grows, in the median over seeds",
        norm_at_the_largest_stable_step_over_that_at_the_least=n.norm_share.median("seed"),
        at_most=1.0,
        basis="stated",
        source=_PAPER,
        bound="the paper gives no number: it falls",
        headline=True,
    )


def _falls(n: xarray.Dataset) -> Claim:
    known, negative = np.isfinite(n.correlation), n.correlation < 0
    chances = [
        sign_test(int(k), int(m)) for k, m in zip(negative.sum("seed"), known.sum("seed"), strict=True)
    ]
    above = n.set.values[(n.correlation > 0).any("seed").values]
    return observed(
        f"the norm falls as the step grows, seed by seed: {int(negative.sum())} of {int(known.sum())} rank "
        f"correlations are negative; sign test, set by set: p at most {max(chances):.1g}",
        rank_correlation_over_the_steps_at_which_it_converges=_at(n.correlation, known),
        at_most=0.0,
        basis="stated",
        source=f"measured here, for {_PAPER}",
        bound="the sign alone",
        each="seeds and sets",
        note=f"The others are all of the set: {', '.join(above)}." if len(above) else "",
    )


def sign_test(negative: int, known: int) -> float:
    """The chance of at least as many negative values if either sign is as likely."""
    return sum(comb(known, k) for k in range(negative, known + 1)) / 2**known


def _power(n: xarray.Dataset) -> Claim:
    fits = _powers(n)
    each = "; ".join(f"{name} {written(*fit)}" for name, fit in fits.items())
    return observed(
        "where the minimum of the least step is unstable, the norm falls as a power of the step: exponents, "
        f"each seed with its own set for generic, {each}; the bound 1/(η·min g) has −1",
        mean_exponent_plus_two_standard_errors=[mean + 2 * error for mean, error in fits.values()],
        at_most=0.0,
        basis="derived",
        source=f"measured here, for {_PAPER}",
        bound="two standard errors below none; the norm ends at the least norm, so that no single power is "
        "exact",
        each="sets",
    )


def _powers(n: xarray.Dataset) -> dict[str, tuple[float, float]]:
    """The mean exponent of every set and its standard error over seeds, NaN if fewer than two have one."""
    rows = {str(name): row[np.isfinite(row)] for name, row in zip(n.set.values, n.power.values, strict=True)}
    return {name: mean_and_error(row) if len(row) > 1 else (np.nan, np.nan) for name, row in rows.items()}


def _on_kinks(n: xarray.Dataset) -> Claim:
    along = float(n.tangent_ratio.where(n.on_kink).max())
    return observed(
        "on a kink, too, where there is no Hessian, the sharpness of the pattern met at the end is at most "
        "2/η",
        sharpness_times_half_the_step=_at(n.sharpness_ratio, n.on_kink),
        at_most=1 + _FINITE,
        source="measured here",
        bound=f"the law off kinks, which is not derived here; {_FINITE:g} since runs are finite",
        each="runs",
        note="Where it is not, moves off the kinks see another pattern; over the moves that stay on them it "
        f"is {along:.4g} at most.",
    )


def _sets(n: xarray.Dataset) -> Table:
    across: Any = ("rung", "seed")
    counts = {name: (n.outcome == i).sum(across) for i, name in enumerate(OUTCOMES)}
    reached = zip(n.largest_stable.min("seed").values, n.largest_stable.max("seed").values, strict=True)
    ranges = [f"{low:.3g} to {high:.3g}" if np.isfinite(low) else "none" for low, high in reached]
    powers = [written(*fit) for fit in _powers(n).values()]
    facts = n[["ceiling", "least_norm", "least_gain", "scale"]].median("seed")
    return table(
        "sets: known before any run (generic: medians over its sets), what became of the runs, and the "
        "largest step that each seed converges at",
        over="set",
        columns={
            "set": n.set,
            "η_c, above it no minimum off all kinks is stable": facts.ceiling,
            "least norm": facts.least_norm,
            "min g": facts.least_gain,
            "initial scale": facts.scale,
            **counts,
            "off all kinks": n.settled.sum(across),
            "off them, but a kick grows": n.growing.sum(across),
            "largest stable step/η_c, median": n.largest_stable.median("seed"),
            "its range": xarray.DataArray(ranges, dims="set"),
            "norm there/at the least step, median": n.norm_share.median("seed"),
            "exponent": xarray.DataArray(powers, dims="set"),
        },
    )
