"""Claims of ours on one step and on orthogonal inputs, with derived bounds."""

from __future__ import annotations

from typing import Any

import numpy as np

from biasfree.theory.neighbors import gradient_rank_ceiling
from biasfree_papers.experiment import Claim, of_runs
from biasfree_papers.shared.orthogonal_sentences import bracketed_margins, constant_part, eps
from biasfree_papers.shared.sign_blocks import allowed
from biasfree_papers.shared.trajectories import ROUNDING
from biasfree_papers.types import Numbers

_FREI = "Frei et al. 2022"


def derived(numbers: Numbers) -> list[Claim]:
    """One step, then orthogonal inputs, then the max-margin network."""
    parts = (_closed_form, _bounds, _gradient, _conserved, _margins, _limit, _network)
    return [part(numbers) for part in parts]


def _seeds(numbers: Numbers) -> dict[str, Any]:
    return {"seeds": tuple(numbers["seeds"])}


def all_runs(numbers: Numbers, name: str) -> np.ndarray:
    """A number of every run, on mixtures with either step and on orthogonal inputs, in a row."""
    return np.concatenate([numbers[f"{kind}{name}"].ravel() for kind in ("", "large_", "orthogonal_")])


def _closed_form(numbers: Numbers) -> Claim:
    return Claim(
        sentence="one step of descent is W₀ + ηG, G from the gates of the start (distance, relative)",
        source="derived here: rows of G are a_h⟨y φ′(w_h·x) x/(1 + e^{yf})⟩",
        kind="ours",
        identity=True,
        measured=tuple(all_runs(numbers, "first_error")),
        bound=(eps(numbers),),
        origin=f"zero up to {ROUNDING}",
        **of_runs(numbers),
    )


def _bounds(numbers: Numbers) -> Claim:
    ranks = [numbers[f"{kind}ranks"][..., 1, 0].ravel() for kind in ("", "large_", "orthogonal_")]
    after = np.concatenate(ranks)
    outside = np.maximum(after / all_runs(numbers, "first_high"), all_runs(numbers, "first_low") / after)
    return Claim(
        sentence="after one step the stable rank lies between what the norms of ηG and of W₀, in the span of "
        "the samples and off it, allow (over the upper bound, or the lower one over it)",
        source="derived here: triangle inequalities both ways in the span, and W₁W₁ᵀ = VVᵀ + RRᵀ for the "
        "constant rest R",
        kind="ours",
        identity=True,
        measured=tuple(outside),
        bound=(1 + eps(numbers, 10),),
        origin="an inequality, to rounding",
        **of_runs(numbers),
    )


def _gradient(numbers: Numbers) -> Claim:
    """Both inequalities: of the gradient, and of what bounds it."""
    gradient, most = numbers["orthogonal_first_gradient"][..., 0], numbers["orthogonal_first_ceiling"]
    any_start = np.broadcast_to(gradient_rank_ceiling(numbers["cases"][:, 1]), most.shape)
    bound = np.concatenate([most.ravel(), any_start.ravel()])
    return Claim(
        sentence="on orthogonal inputs the gradient at the start has a stable rank of at most ΣA_i v_i/"
        "Σκ_i² v_i, v_i = (|x_i|/(1 + e^{z_i}))² with z_i the margins; that is at most (1 + α)²/4α for any "
        "start, α the leak, and 2(1 + α²)/(1 + α)² for gates that are on by halves (stable rank of the "
        "gradient of every run, then that bound)",
        source="derived here, with factors (1 ± ε) for nearly orthogonal inputs, ε = "
        f"n·max|x_i·x_j|/min|x_i|² < 1; after {_FREI}",
        kind="ours",
        identity=True,
        measured=(*gradient.ravel(), *most.ravel()),
        bound=tuple(bound * (1 + eps(numbers, 10))),
        origin="|G|_F² over |aᵀG|²/|a|²; A_i = Σ_h a_h²φ′_hi², κ_i = Σ_h a_h²φ′_hi/|a|, and A_i/κ_i² is "
        "largest where the mean of φ′ is 2α/(1 + α)",
        **_seeds(numbers),
        each="bounds",
    )


def _conserved(numbers: Numbers) -> Claim:
    return constant_part(numbers, numbers["orthogonal_moved"], steps=numbers["long_steps"][-1])


def _margins(numbers: Numbers) -> Claim:
    z, low, high = (numbers[f"orthogonal_{name}"] for name in ("z", "low", "high"))
    wide = (high - low).max(axis=(0, 2))
    text = f"{wide[:-1].max():.1g} wide or less with the small step and {wide[-1]:.1g} with the large one"
    steps = numbers["long_steps"][-1]
    return bracketed_margins(numbers, z, low, high, steps=steps, wide=text, paper=_FREI)


def from_limit(numbers: Numbers) -> tuple[np.ndarray, np.ndarray]:
    """The last stable rank less its limit, and what bounds that, for orthogonal inputs and either step.

    W₁ = U + E + R with U the nearest layer of equal margins. E, orthogonal to it, is the constant part in the
    span and what margins differ by, orthogonal to one another; R is off the span.
    """
    z, rate, kept, rest = (numbers[f"orthogonal_{name}"] for name in ("z", "rate", "kept", "rest"))
    inverse = 1 / (numbers["samples"] * rate)
    mean = np.sum(z * inverse, axis=-1, keepdims=True) / inverse.sum(axis=-1, keepdims=True)
    ideal, uneven = (np.sqrt(np.sum(part**2 * inverse, axis=-1)) for part in (mean, z - mean))
    moved = np.hypot(np.linalg.norm(kept[..., 0, :], axis=-1), uneven)
    turned = moved / np.hypot(ideal, moved)  # the sine of their angle
    found = numbers["orthogonal_ranks"][..., -1, 0]
    return allowed(found, numbers["orthogonal_limit"], turned, rest[..., 0] / ideal)


def _limit(numbers: Numbers) -> Claim:
    off, bound = from_limit(numbers)
    used = (off / bound)[:, :-1]
    return Claim(
        sentence="on orthogonal inputs, from a tiny start, the stable rank ends as near to its limit, for "
        "equal norms, counts and signs 2(1 + α²)/(1 + α)², as the memory of the first steps allows "
        "(distance, for every seed with the small step by leak, then with the large one)",
        source=f"bf.theory.neighbors.stable_rank_limit, derived here; {_FREI} for the network at the end",
        kind="ours",
        measured=tuple(off.ravel()),
        bound=tuple(bound.ravel() + eps(numbers, 10)),
        origin="bf.theory.neighbors.perturbed_stable_rank: by what angle the constant part of W₁, "
        "Frobenius-orthogonal to what grows, and unequal margins can turn it, as measured; "
        "both fall as 1/ln t. With the small step "
        f"{100 * used.min():.0f} to {100 * used.max():.0f} % of it are used",
        **of_runs(numbers),
    )


def _network(numbers: Numbers) -> Claim:
    """f = ½(φ(p − αq) − φ(q − αp)) has the sign of p − q: φ rises, and (1 + α)(p − q) is between them."""
    off = np.maximum(numbers["limit_beyond"], np.abs(numbers["limit_ranks"][..., 1:] - 1).max(axis=-1))
    return Claim(
        sentence="the max-margin network whose neurons are all on their side of all samples has rank two, "
        "either sign block rank one, and a linear boundary (share beyond rank two, stable ranks of the "
        "blocks less 1, or share of random points off)",
        source=f"derived here for any inputs; {_FREI} for nearly orthogonal ones",
        kind="ours",
        identity=True,
        measured=tuple(np.maximum(off, 1 - numbers["limit_agree"]).ravel()),
        bound=(eps(numbers, 10),),
        origin="zero up to rounding. True by construction: these gates leave all neurons of one sign one "
        "direction, so it tests the solver; whether training can end there is another question, below",
        **_seeds(numbers),
        each="draws",
    )
