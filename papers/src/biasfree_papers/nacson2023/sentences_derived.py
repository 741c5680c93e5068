"""Claims of ours on the minima at which descent settles, with derived bounds."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from biasfree_papers.experiment import Claim
from biasfree_papers.nacson2023 import sentences_readings as read
from biasfree_papers.types import Numbers

PAPER = "Nacson et al. 2023"


def derived(numbers: Numbers) -> list[Claim]:
    """Sharpness, the kernel, and what the data alone allow."""
    parts = (_stable, _kernel, _gain, _norm_bound, _ceiling, _least_norm)
    return [part(numbers) for part in parts]


def about(
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
    return about(
        numbers,
        "off all kinks descent settles, so that no kick grows, only where the sharpness is at most 2/η "
        "(sharpness·η/2)",
        read.ratio(numbers)[settled],
        read.stability_bound(numbers)[settled],
        "1, and what a run can tell: a kick of which a share p is along the sharpest direction, and whose "
        f"residual is at none of the n = {int(numbers['kicked'])} steps after it larger than at first, "
        "allows ln(1/p)/2n more, and the change of the kernel within its reach",
        source=f"{PAPER}; derived here: a step multiplies residuals along that direction by 1 − ηλ",
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
    return about(
        numbers,
        "at a minimum the sharpness, on kinks that of the pattern met at the end, is the largest eigenvalue "
        "of the tangent kernel over P (difference)",
        np.abs(numbers["sharpness"] - numbers["kernel"])[there],
        slack[there],
        "the residual left times the longest input bounds the rest of the Hessian; 1e-11 for eigenvalues",
        source="derived here: the Hessian is GᵀG/P where the residual vanishes, the kernel GGᵀ/P",
        identity=True,
    )


def _gain(numbers: Numbers) -> Claim:
    there = read.converged(numbers)
    slack = read.by_set(numbers, "longest") * read.residual(numbers) / numbers["sharpness"]
    return about(
        numbers,
        "sharpness bounds a weighted norm: 2Σ|a|g(w) is at most the sharpness (their ratio), with g(w) = "
        "(w·S)|S|/P², S the sum of the samples that w is active on",
        (2 * numbers["gain"] / numbers["sharpness"])[there],
        1 + slack[there] + 1e-11,
        "1, and the residual left times the longest input over the sharpness",
        source="derived here: the quotient of the Hessian on Gᵀ1, and |u|² + |v|² ≥ 2|u||v| neuron by neuron",
        identity=True,
    )


def _norm_bound(numbers: Numbers) -> Claim:
    """Only for sets that no half-plane misses."""
    chosen = read.settled(numbers) & (read.by_set(numbers, "least_gain") > 0)
    return about(
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
    return about(
        numbers,
        "no network of any width settles off all kinks at a step above η_c = 2/(least sharpness) of all that "
        "interpolate (largest step over it)",
        reached[some],
        bound[some],
        "1, as for the sharpness; the least sharpness is a semidefinite program, bounded by its dual",
        source="derived here: bf.theory.neighbors.least_sharpness",
        each="sets",
        note=f"On a kink it is not derived; no run converged, on kinks or off, above {met.max():.3g}.",
    )


def _least_norm(numbers: Numbers) -> Claim:
    there = read.converged(numbers)
    least = read.by_set(numbers, "least_norm")
    slack = read.by_set(numbers, "multipliers") * np.sqrt(read.by_set(numbers, "samples"))
    return about(
        numbers,
        "no minimum has Σ|a||w| below the least norm of an interpolating network (their ratio)",
        (numbers["norm"] / least)[there],
        (1 - slack * read.residual(numbers) / least - 1e-11)[there],
        "1, less what the residual left allows; the least norm is bounded from below by duality, exactly",
        source="derived here",
        sense="at least",
        identity=True,
    )
