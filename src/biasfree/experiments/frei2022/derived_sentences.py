"""What is derived of one step and of orthogonal inputs, from stored numbers: claims that we vouch for."""

from __future__ import annotations

from typing import Any

import numpy as np

from biasfree.experiments.experiment import Claim, Numbers
from biasfree.experiments.measures import ROUNDING
from biasfree.theory import moved_stable_rank

_FREI = "Frei et al. 2022"


def derived(numbers: Numbers) -> list[Claim]:
    """One step, then orthogonal inputs, then the max-margin network."""
    parts = (_closed_form, _bounds, _gradient, _conserved, _margins, _limit, _network)
    return [part(numbers) for part in parts]


def eps(numbers: Numbers, steps: float = 1) -> float:
    """Rounding of so many steps, or so many operations on matrices."""
    terms = 2 * numbers["samples"] + numbers["width"]
    return float(steps * terms * np.finfo(float).eps)


def _seeds(numbers: Numbers) -> dict[str, Any]:
    return {"seeds": tuple(numbers["seeds"])}


def _runs(numbers: Numbers) -> dict[str, Any]:
    return {**_seeds(numbers), "each": "runs"}


def all_runs(numbers: Numbers, name: str) -> np.ndarray:
    """A number of every run, on mixtures with either step and on orthogonal inputs, in a row."""
    return np.concatenate([numbers[f"{kind}{name}"].ravel() for kind in ("", "large_", "orthogonal_")])


def _closed_form(numbers: Numbers) -> Claim:
    return Claim(
        sentence="one step of descent is W₀ + ηG, G from the gates of the start (distance, relative)",
        source="derived here: rows of G are a_h⟨y φ′(w_h·x) x/(1 + e^{yf})⟩",
        kind="ours",
        measured=tuple(all_runs(numbers, "first_error")),
        bound=(eps(numbers),),
        origin=f"zero up to {ROUNDING}",
        **_runs(numbers),
    )


def _bounds(numbers: Numbers) -> Claim:
    ranks = [numbers[f"{kind}ranks"][..., 1, 0].ravel() for kind in ("", "large_", "orthogonal_")]
    after = np.concatenate(ranks)
    outside = np.maximum(after / all_runs(numbers, "first_high"), all_runs(numbers, "first_low") / after)
    return Claim(
        sentence="after one step the stable rank lies between what the norms of ηG and of W₀, in the span of "
        "the samples and off it, allow (over the upper bound, or the lower one over it)",
        source="derived here: Weyl's inequality in the span, and W₁W₁ᵀ = VVᵀ + RRᵀ for the constant rest R",
        kind="ours",
        measured=tuple(outside),
        bound=(1 + eps(numbers, 10),),
        origin="an inequality, to rounding",
        **_runs(numbers),
    )


def _gradient(numbers: Numbers) -> Claim:
    return Claim(
        sentence="on orthogonal inputs the gradient at the start has a stable rank of at most Σ A_i v_i/Σ "
        "κ_i² v_i, which is below 1/γ² for any start and near 2(1 + γ²)/(1 + γ)² for gates that are on by "
        "halves",
        source="derived here, with factors (1 ± ε) for nearly orthogonal inputs, ε = "
        f"n·max|x_i·x_j|/min|x_i|² < 1; after {_FREI}",
        kind="ours",
        measured=tuple(numbers["orthogonal_first_gradient"][..., 0].ravel()),
        bound=tuple(numbers["orthogonal_first_ceiling"].ravel() * (1 + eps(numbers, 10))),
        origin="|G|_F² over |aᵀG|²/|a|²; κ_i and A_i are the sums of |a_h|²φ′ and a_h²φ′² over neurons",
        **_runs(numbers),
    )


def _conserved(numbers: Numbers) -> Claim:
    return Claim(
        sentence="on orthogonal inputs, while gates last, W₁ is the shortest layer with its margins plus a "
        "constant (change of that constant over |W₁|)",
        source="derived here: W₁ moves in the span of the gradients of the margins, of which the first part "
        "is",
        kind="ours",
        measured=tuple(numbers["orthogonal_moved"].ravel()),
        bound=(eps(numbers, numbers["long_steps"][-1]),),
        origin=f"zero up to {ROUNDING}",
        **_runs(numbers),
    )


def _margins(numbers: Numbers) -> Claim:
    z, low, high = (numbers[f"orthogonal_{name}"] for name in ("z", "low", "high"))
    return Claim(
        sentence="on orthogonal inputs margins grow as z + e^z = ct + constant, each by itself: all tend to "
        "ln t, and the normalised ones to one value (how far the last are outside the bracket)",
        source=f"derived here, with the error of a finite step; {_FREI} for the equal margins",
        kind="ours",
        measured=tuple(np.maximum(low - z, z - high).max(axis=-1).ravel()),
        bound=(eps(numbers, numbers["long_steps"][-1]) * float(np.abs(z).max()),),
        origin="from the step on from which gates last z + e^z grows per step by ηc at least and ηc(e^δ − "
        "1)/δ at most, δ the first step of z; to rounding",
        **_runs(numbers),
    )


def from_limit(numbers: Numbers) -> tuple[np.ndarray, np.ndarray]:
    """The last stable rank less its limit L, and what bounds that, for orthogonal inputs and either step.

    W₁ = U + E with U of equal margins: E is the constant part and what margins differ by.
    """
    z, rate, limit = (numbers[f"orthogonal_{name}"] for name in ("z", "rate", "limit"))
    middle = z.mean(axis=-1, keepdims=True)
    inverse = 1 / (numbers["samples"] * rate)
    uneven = np.sqrt(np.sum((z - middle) ** 2 * inverse, axis=-1))
    ideal = np.sqrt(np.sum(middle**2 * inverse, axis=-1) / limit)  # |U|₂
    e = (numbers["orthogonal_remainder"] + uneven) / ideal
    return np.abs(numbers["orthogonal_ranks"][..., -1, 0] - limit), moved_stable_rank(limit, e)


def _limit(numbers: Numbers) -> Claim:
    off, bound = (values[:, :-1].ravel() for values in from_limit(numbers))
    return Claim(
        sentence="on orthogonal inputs, from a tiny start and with the small step, the stable rank ends at "
        "its limit, for equal norms, counts and signs 2(1 + γ²)/(1 + γ)² (distance)",
        source=f"bf.theory.stable_rank_limit, derived here; {_FREI} for the network at the end",
        kind="ours",
        measured=tuple(off),
        bound=tuple(bound * (1 + 1e-9)),
        origin="Weyl's inequality with what is left of the start, of the first steps and of unequal "
        "margins, as measured; it falls as 1/ln t",
        **_runs(numbers),
    )


def _network(numbers: Numbers) -> Claim:
    """f = ½(φ(p − γq) − φ(q − γp)) has the sign of p − q: φ rises, and (1 + γ)(p − q) is between them."""
    off = np.maximum(numbers["limit_beyond"], np.abs(numbers["limit_ranks"][..., 1:] - 1).max(axis=-1))
    return Claim(
        sentence="the max-margin network whose neurons are all on their side of all samples has rank two, "
        "either sign block rank one, and a linear boundary (share beyond rank two, stable ranks of the "
        "blocks less 1, or share of random points off)",
        source=f"derived here for any inputs; {_FREI} for nearly orthogonal ones",
        kind="ours",
        measured=tuple(np.maximum(off, 1 - numbers["limit_agree"]).ravel()),
        bound=(eps(numbers, 10),),
        origin="zero up to rounding",
        **_seeds(numbers),
        each="draws",
    )
