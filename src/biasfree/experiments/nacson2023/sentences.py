"""What steps have to do with the minima descent comes to, as claims from stored numbers."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from biasfree.experiments.experiment import Claim, Numbers
from biasfree.experiments.nacson2023 import sentences_readings as read

_PAPER = "Nacson et al. 2023"


def claims(numbers: Numbers) -> list[Claim]:
    """Six that are derived, four of the paper's law, and two that we saw."""
    ours = [_stable(numbers), _kernel(numbers), _gain(numbers), _norm_bound(numbers), _ceiling(numbers)]
    paper = [_everywhere(numbers), _flatter(numbers), _smaller(numbers), _falls(numbers)]
    return [*ours, _least_norm(numbers), *paper, _exponent(numbers), _tangent(numbers)]


def _of_runs(
    numbers: Numbers,
    sentence: str,
    values: np.ndarray,
    bound: Any,
    origin: str,
    *,
    source: str,
    kind: Literal["ours", "paper", "observed"] = "ours",
    **more: Any,
) -> Claim:
    """A claim about as many runs, starts or sets as there are values."""
    measured = tuple(np.ravel(values)) or (np.nan,)
    bounds = np.broadcast_to(np.ravel(bound), (len(measured),)) if np.size(bound) else (1.0,)
    return Claim(
        sentence=sentence,
        source=source,
        kind=kind,
        measured=measured,
        bound=tuple(bounds),
        origin=origin,
        seeds=tuple(numbers["seeds"]),
        **{"each": "runs", **more},
    )


def _stable(numbers: Numbers) -> Claim:
    settled = read.settled(numbers)
    return _of_runs(
        numbers,
        "off all kinks descent settles, so that no kick grows, only where the sharpness is at most 2/η "
        "(sharpness·η/2)",
        read.ratio(numbers)[settled],
        read.stability_bound(numbers)[settled],
        "1, and what a run can tell: a kick of which a share p is along the sharpest direction, and whose "
        f"residual is at none of the n = {int(numbers['kicked'])} steps after it larger than at first, "
        "allows ln(1/p)/2n more, and the change of the kernel within its reach",
        source=f"{_PAPER}; derived here: a step multiplies residuals along that direction by 1 − ηλ",
        note=_covered(numbers),
    )


def _covered(numbers: Numbers) -> str:
    """How many minima are off all kinks, set by set."""
    kinds = (read.settled(numbers), read.converged(numbers))
    counts = zip(numbers["sets"], *(np.sum(kind, axis=(1, 2)) for kind in kinds), strict=True)
    each = ", ".join(f"{name} {some} of {every}" for name, some, every in counts)
    grow = int(read.growing(numbers).sum())
    return (
        f"About these minima: {each}. The others have a neuron on a kink or within reach of a kick of one; "
        f"from {grow} off all kinks the kick grows."
    )


def _kernel(numbers: Numbers) -> Claim:
    there = read.converged(numbers)
    slack = read.by_set(numbers, "longest") * read.residual(numbers) + 1e-11 * numbers["sharpness"]
    return _of_runs(
        numbers,
        "at a minimum the sharpness, on kinks that of the pattern met at the end, is the largest eigenvalue "
        "of the tangent kernel over P (difference)",
        np.abs(numbers["sharpness"] - numbers["kernel"])[there],
        slack[there],
        "the residual left times the longest input bounds the rest of the Hessian; 1e-11 for eigenvalues",
        source="derived here: the Hessian is GᵀG/P where the residual vanishes, the kernel GGᵀ/P",
    )


def _gain(numbers: Numbers) -> Claim:
    there = read.converged(numbers)
    slack = read.by_set(numbers, "longest") * read.residual(numbers) / numbers["sharpness"]
    return _of_runs(
        numbers,
        "sharpness bounds a weighted norm: 2Σ|a|g(w) is at most the sharpness (their ratio), with g(w) = "
        "(w·S)|S|/P², S the sum of the samples that w is active on",
        (2 * numbers["gain"] / numbers["sharpness"])[there],
        1 + slack[there] + 1e-11,
        "1, and the residual left times the longest input over the sharpness",
        source="derived here: the quotient of the Hessian on Gᵀ1, and |u|² + |v|² ≥ 2|u||v| neuron by neuron",
    )


def _norm_bound(numbers: Numbers) -> Claim:
    """Only for sets that no half-plane misses."""
    chosen = read.settled(numbers) & (read.by_set(numbers, "least_gain") > 0)
    return _of_runs(
        numbers,
        "where every half-plane holds a sample, Σ|a||w| is at most 1/(η·min g) at minima off all kinks that "
        "descent settles at (their ratio)",
        (numbers["norm"] * read.steps(numbers) * read.by_set(numbers, "least_gain"))[chosen],
        read.stability_bound(numbers)[chosen] + 1e-8,
        "as for the sharpness; min g over unit vectors is exact, at an end of a cone of directions",
        source="derived here: from the sharpness and its weighted norm",
    )


def _ceiling(numbers: Numbers) -> Claim:
    settled = read.settled(numbers)
    some = settled.any(axis=(1, 2))
    reached, met = (
        np.where(kind, numbers["rungs"][:, None], 0.0).max(axis=(1, 2))
        for kind in (settled, read.converged(numbers))
    )
    bound = np.where(settled, read.stability_bound(numbers), 1.0).max(axis=(1, 2))
    return _of_runs(
        numbers,
        "no network of any width settles off all kinks at a step above η_c = 1/min Σ|a|g over all that "
        "interpolate (largest step over it)",
        reached[some],
        bound[some],
        "1, as for the sharpness; the minimum is a linear program over ends of cones, bounded by its dual",
        source="derived here: from the sharpness and its weighted norm; in the plane g is linear on every "
        "cone",
        each="sets",
        note=f"On a kink it is not derived; no run converged, on kinks or off, above {met.max():.3g}.",
    )


def _least_norm(numbers: Numbers) -> Claim:
    there = read.converged(numbers)
    least = read.by_set(numbers, "least_norm")
    slack = read.by_set(numbers, "multipliers") * np.sqrt(read.by_set(numbers, "samples"))
    return _of_runs(
        numbers,
        "no minimum has Σ|a||w| below the least norm of an interpolating network (their ratio)",
        (numbers["norm"] / least)[there],
        (1 - slack * read.residual(numbers) / least - 1e-11)[there],
        "1, less what the residual left allows; the least norm is bounded from below by duality, exactly",
        source="derived here",
        sense="at least",
    )


def _everywhere(numbers: Numbers) -> Claim:
    there = read.converged(numbers)
    over, on = there & (read.ratio(numbers) > 1.001), read.on_kinks(numbers)
    note = (
        f"All {int(over.sum())} above are among the {int(on.sum())} minima on a kink: no Hessian is there."
        if over.any() and not (over & ~on).any()
        else ""
    )
    return _of_runs(
        numbers,
        "at the minimum it ends at, on a kink or not, the sharpness is at most 2/η (sharpness·η/2)",
        read.ratio(numbers)[there],
        1.001,
        "the paper's law; 1e-3 since runs are finite",
        source=_PAPER,
        kind="paper",
        note=note,
    )


def _compared(numbers: Numbers, name: str) -> np.ndarray:
    """(sets, starts): a quantity at the largest step at which a start converges, over that at the least."""
    first, last = read.smallest_and_largest(numbers)
    share = read.at(numbers[name], last) / read.at(numbers[name], first)
    return np.where(last > first, share, np.nan)


def _of_starts(numbers: Numbers, sentence: str, values: np.ndarray, level: float) -> Claim:
    """A claim of the paper about all starts, which names the sets of those that are above the level."""
    above = [str(name) for name, row in zip(numbers["sets"], values > level, strict=True) if row.any()]
    return _of_runs(
        numbers,
        sentence,
        values[np.isfinite(values)],
        level,
        "the paper gives no number; we take the sign alone",
        source=_PAPER,
        kind="paper",
        each="starts",
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
    fits = [read.mean_and_error(row) for row in read.exponents(numbers)]
    each = "; ".join(
        f"{name} {mean:.2f} ± {error:.2f}"
        for name, (mean, error, _) in zip(numbers["sets"], fits, strict=True)
    )
    return _of_runs(
        numbers,
        "where the minimum of the least step is unstable, the norm falls as a power of the step (exponents, "
        f"mean and standard error over starts, each with its own set for generic: {each}; the bound "
        "1/(η·min g) has −1)",
        np.array([mean + 2 * error for mean, error, _ in fits]),
        0.0,
        "two standard errors below none; the norm ends at the least norm, so that no single power is exact",
        source=f"measured here, for {_PAPER}",
        kind="observed",
        each="sets",
    )


def _tangent(numbers: Numbers) -> Claim:
    on = read.on_kinks(numbers)
    return _of_runs(
        numbers,
        "at minima on kinks it is at most 2/η over the moves that stay on them (that sharpness·η/2)",
        read.ratio(numbers, "tangent")[on],
        1.001,
        "1e-3 since runs are finite; not derived: neurons held on a kink cross it from step to step",
        source="measured here",
        kind="observed",
    )
