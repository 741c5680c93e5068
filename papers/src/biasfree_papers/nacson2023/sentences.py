"""Claims on steps and the minima that descent reaches."""

from __future__ import annotations

import numpy as np

from biasfree_papers.experiment import Claim
from biasfree_papers.nacson2023 import sentences_readings as read
from biasfree_papers.nacson2023.sentences_derived import PAPER, about, derived
from biasfree_papers.types import Numbers

_FINITE = 1e-3  # of 2/η, by which a finite run may exceed it


def claims(numbers: Numbers) -> list[Claim]:
    """Those that are derived, the paper's two laws, and what we saw of single starts and on kinks."""
    parts = (_off_kinks, _medians, _flatter, _smaller, _falls, _exponent, _on_kinks, _tangent)
    return [*derived(numbers), *(part(numbers) for part in parts)]


def _off_kinks(numbers: Numbers) -> Claim:
    off = read.converged(numbers) & ~read.on_kinks(numbers)
    return about(
        numbers,
        "at the minimum it ends at, off all kinks, where the loss has a Hessian, the sharpness is at most "
        "2/η (sharpness·η/2)",
        read.ratio(numbers)[off],
        1 + _FINITE,
        f"the paper's law; {_FINITE:g} since runs are finite",
        source=PAPER,
        kind="paper",
        basis="stated",
    )


def _on_kinks(numbers: Numbers) -> Claim:
    on = read.on_kinks(numbers)
    return about(
        numbers,
        "on a kink, too, where there is no Hessian, the sharpness of the pattern met at the end is at most "
        "2/η (sharpness·η/2)",
        read.ratio(numbers)[on],
        1 + _FINITE,
        f"the law off kinks, which is not derived here; {_FINITE:g} since runs are finite",
        source="measured here",
        kind="observed",
        note="Where it is not, moves off the kinks see another pattern; those along them are judged below.",
    )


def _medians(numbers: Numbers) -> Claim:
    shares = _compared(numbers, "norm")
    medians, some = np.full(len(shares), np.nan), np.isfinite(shares).any(axis=1)
    medians[some] = np.nanmedian(shares[some], axis=1)
    return about(
        numbers,
        "the norm Σ|a||w| of the minimum falls as the step grows (at the largest stable step of a start over "
        "that at the least, median over starts)",
        medians,
        1.0,
        "the paper gives no number: it falls",
        source=PAPER,
        kind="paper",
        each="sets",
        basis="stated",
    )


def _compared(numbers: Numbers, name: str) -> np.ndarray:
    """(sets, starts): a quantity at the largest step at which a start converges, over that at the least."""
    first, last = read.smallest_and_largest(numbers)
    share = read.at(numbers[name], last) / read.at(numbers[name], first)
    return np.where(last > first, share, np.nan)


def _of_starts(numbers: Numbers, sentence: str, values: np.ndarray, level: float) -> Claim:
    """What we saw of all starts one by one, with the sets of those that are above the level."""
    above = [str(name) for name, row in zip(numbers["sets"], values > level, strict=True) if row.any()]
    return about(
        numbers,
        sentence,
        values[np.isfinite(values)],
        level,
        "the sign alone",
        source=f"measured here, for {PAPER}",
        kind="observed",
        each="starts",
        basis="stated",
        note=f"The others are all of the set: {', '.join(above)}." if above else "",
    )


def _flatter(numbers: Numbers) -> Claim:
    share = _compared(numbers, "sharpness")
    sentence = (
        "at its largest stable step descent ends at a flatter minimum than at the least step (ratio of "
        f"sharpness, median {np.nanmedian(share):.2g})"
    )
    return _of_starts(numbers, sentence, share, 1.0)


def _smaller(numbers: Numbers) -> Claim:
    share = _compared(numbers, "norm")
    sentence = (
        "at its largest stable step the norm Σ|a||w| is smaller than at the least step (their ratio, median "
        f"{np.nanmedian(share):.2g})"
    )
    return _of_starts(numbers, sentence, share, 1.0)


def _falls(numbers: Numbers) -> Claim:
    found = read.correlations(numbers)
    sentence = (
        "the norm falls as the step grows, start by start (rank correlation over the steps at which it "
        f"converges; {int(np.sum(found < 0))} of {int(np.isfinite(found).sum())} negative; sign test, set by "
        f"set: p at most {max(map(read.sign_test, found)):.1g})"
    )
    return _of_starts(numbers, sentence, found, 0.0)


def _exponent(numbers: Numbers) -> Claim:
    fits = [read.finite_mean_and_error(row) for row in read.exponents(numbers)]
    each = "; ".join(
        f"{name} {mean:.2f} ± {error:.2f}" for name, (mean, error) in zip(numbers["sets"], fits, strict=True)
    )
    return about(
        numbers,
        "where the minimum of the least step is unstable, the norm falls as a power of the step (exponents, "
        f"mean and standard error over starts, each with its own set for generic: {each}; the bound "
        "1/(η·min g) has −1)",
        np.array([mean + 2 * error for mean, error in fits]),
        0.0,
        "two standard errors below none; the norm ends at the least norm, so that no single power is exact",
        source=f"measured here, for {PAPER}",
        kind="observed",
        basis="derived",
        each="sets",
    )


def _tangent(numbers: Numbers) -> Claim:
    on = read.on_kinks(numbers)
    return about(
        numbers,
        "at minima on kinks it is at most 2/η over the moves that stay on them (that sharpness·η/2)",
        read.ratio(numbers, "tangent")[on],
        1 + _FINITE,
        f"{_FINITE:g} since runs are finite; not derived: neurons held on a kink cross it from step to step",
        source="measured here",
        kind="observed",
    )
