"""Claims of ours on orthogonal inputs, with derived bounds."""

from __future__ import annotations

import numpy as np

from biasfree_papers.experiment import Claim, of_runs
from biasfree_papers.shared.orthogonal_sentences import bracketed_margins, constant_part, eps
from biasfree_papers.shared.sign_blocks import allowed
from biasfree_papers.types import Numbers

_KOU = "Kou et al. 2023"


def derived(numbers: Numbers) -> list[Claim]:
    """Gates, the constant part of W₁, margins, loss, and the sign blocks with their bound."""
    return [part(numbers) for part in (_gates, _conserved, _margins, _loss, _blocks, _ceiling)]


def _orthogonal(numbers: Numbers, name: str) -> np.ndarray:
    """A number of the runs on orthogonal inputs, seeds and leaks in a row."""
    values = numbers[name][-1]
    return values.reshape(-1, *values.shape[2:])


def _gates(numbers: Numbers) -> Claim:
    return Claim(
        sentence="on orthogonal inputs every gate ends as the start foretells: neurons on their side of all "
        "samples, and ReLU neurons off for ever where they were off (share of other gates)",
        source="derived here: w_h·x_i moves by a_h y_i φ′_hi|x_i|² times a positive number, and by nothing "
        "else",
        kind="ours",
        measured=tuple(_orthogonal(numbers, "other_gates")),
        bound=(0.0,),
        origin="exact",
        **of_runs(numbers),
    )


def _conserved(numbers: Numbers) -> Claim:
    return constant_part(numbers, _orthogonal(numbers, "moved"), steps=numbers["steps"][-1])


def _margins(numbers: Numbers) -> Claim:
    """Leaky and ReLU networks alike."""
    z, low, high = (_orthogonal(numbers, name) for name in ("z", "low", "high"))
    wide, steps = f"{(high - low).max():.1g} wide or less", numbers["steps"][-1]
    return bracketed_margins(numbers, z, low, high, steps=steps, wide=wide, paper=_KOU)


def _loss(numbers: Numbers) -> Claim:
    low, high = (np.log1p(np.exp(-_orthogonal(numbers, name))).mean(axis=-1) for name in ("high", "low"))
    loss = _orthogonal(numbers, "loss")[:, -1]
    return Claim(
        sentence="on orthogonal inputs the loss tends to 1/(ct), averaged over samples, c_i = "
        "|x_i|²Σ_h(a_hφ′_hi)²/n (last loss over the upper bound, or the lower one over it)",
        source=f"derived here from the margins; {_KOU} for 1/t",
        kind="ours",
        measured=tuple(np.maximum(loss / high, low / loss)),
        bound=(1 + eps(numbers, numbers["steps"][-1]) * 20,),
        origin="the bracket of the margins, to rounding; the bounds differ by "
        f"{100 * (high / low - 1).max():.1g} % at most",
        **of_runs(numbers),
    )


def _blocks(numbers: Numbers) -> Claim:
    """A block is U + E + R with U of its margins; E and R are constant."""
    ideal, length = _orthogonal(numbers, "ideal"), _orthogonal(numbers, "length")
    turning, beside = _constant_parts(numbers)
    found = _orthogonal(numbers, "ranks")[:, -1, 1:]
    off, bound = allowed(found, ideal, turning / length, beside / length)
    used = off / bound
    return Claim(
        sentence="on orthogonal inputs a sign block ends at the stable rank of its margins and gates, which "
        "is 1 for leaky neurons (distance)",
        source=f"derived here; {_KOU} for rank one",
        kind="ours",
        measured=tuple(off.ravel()),
        bound=tuple(bound.ravel() + eps(numbers, 10)),
        origin="bf.theory.neighbors.perturbed_stable_rank: by what angle the constant part of the block, "
        "which the logarithm of time outgrows, can turn it; "
        f"{100 * used.min():.0f} to {100 * used.max():.0f} % of it are used",
        **{**of_runs(numbers), "each": "blocks"},
    )


def _constant_parts(numbers: Numbers) -> tuple[np.ndarray, np.ndarray]:
    """|E|_F and |R|_F of either block: R has rows orthogonal to those of U.

    These are what is off the span and, for ReLU, along the samples of the other label, where U is 0.
    """
    kept, rest = _orthogonal(numbers, "kept")[:, 1:], _orthogonal(numbers, "rest")[:, 1:]
    own, other = kept[:, [0, 1], [0, 1]], kept[:, [0, 1], [1, 0]]
    relu = np.tile(numbers["leaks"] == 0, len(numbers["seeds"]))[:, None]
    return np.where(relu, own, np.hypot(own, other)), np.where(relu, np.hypot(rest, other), rest)


def _ceiling(numbers: Numbers) -> Claim:
    ratio = _orthogonal(numbers, "ideal") / _orthogonal(numbers, "ceiling")
    drawn = numbers["drawn_rank"] / numbers["drawn_ceiling"]
    return Claim(
        sentence="on orthogonal inputs that stable rank is at most the weighted mean over samples of "
        "neurons over those that are on, weights (z_i/|x_i|)², about 2 for ReLU gates drawn with equal odds "
        "(ratio to it, of runs and of drawn gates, whose weights are equal)",
        source=f"derived here: a Rayleigh quotient with the vector of ones; {_KOU} for its being bounded",
        kind="ours",
        identity=True,
        measured=(*ratio.ravel(), *drawn.ravel()),
        bound=(1 + eps(numbers, 10),),
        origin="an inequality, to rounding",
        **{**of_runs(numbers), "each": "blocks"},
    )
