"""What is derived for orthogonal inputs, from stored numbers: claims that we vouch for."""

from __future__ import annotations

from typing import Any

import numpy as np

from biasfree.experiments.experiment import Claim, Numbers
from biasfree.experiments.measures import ROUNDING
from biasfree.experiments.sign_blocks import allowed, off_middle

_KOU = "Kou et al. 2023"


def derived(numbers: Numbers) -> list[Claim]:
    """Gates, the constant part of W₁, margins, loss, and the sign blocks with their bound."""
    return [part(numbers) for part in (_gates, _conserved, _margins, _loss, _blocks, _ceiling)]


def _runs(numbers: Numbers) -> dict[str, Any]:
    return {"seeds": tuple(numbers["seeds"]), "each": "runs"}


def _eps(numbers: Numbers, steps: float = 1) -> float:
    return float(steps * (2 * numbers["samples"] + numbers["width"]) * np.finfo(float).eps)


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
        **_runs(numbers),
    )


def _conserved(numbers: Numbers) -> Claim:
    return Claim(
        sentence="on orthogonal inputs, while gates last, W₁ is the shortest layer with its margins plus a "
        "constant (change of that constant over |W₁|)",
        source="derived here: W₁ moves in the span of the gradients of the margins, of which the first part "
        "is",
        kind="ours",
        measured=tuple(_orthogonal(numbers, "moved")),
        bound=(_eps(numbers, numbers["steps"][-1]),),
        origin=f"zero up to {ROUNDING}",
        **_runs(numbers),
    )


def _margins(numbers: Numbers) -> Claim:
    z, low, high = (_orthogonal(numbers, name) for name in ("z", "low", "high"))
    rounding = _eps(numbers, numbers["steps"][-1]) * float(np.abs(z).max())
    return Claim(
        sentence="on orthogonal inputs margins grow as z + e^z = ct + constant, each by itself: all tend to "
        "ln t, and the normalised ones to one value, leaky or ReLU (how far the last are from the "
        f"middle of their bracket, over half its width; brackets are {(high - low).max():.1g} wide or less)",
        source=f"derived here, with the error of a finite step; {_KOU} for the equal margins",
        kind="ours",
        measured=tuple(off_middle(z, low, high, rounding=rounding)),
        bound=(1.0,),
        origin="from the step on from which gates last z + e^z grows per step by ηc at least and ηc(e^δ − "
        "1)/δ at most, δ a bound on the step of z that falls from doubling to doubling; brackets include "
        "rounding",
        **_runs(numbers),
    )


def _loss(numbers: Numbers) -> Claim:
    low, high = (np.log1p(np.exp(-_orthogonal(numbers, name))).mean(axis=-1) for name in ("high", "low"))
    loss = _orthogonal(numbers, "loss")[:, -1]
    return Claim(
        sentence="on orthogonal inputs the loss tends to 1/(ct), averaged over samples, c_i = "
        "|x_i|²Σ_h(a_hφ′_hi)²/n (last loss over the upper bound, or the lower one over it)",
        source=f"derived here from the margins; {_KOU} for 1/t",
        kind="ours",
        measured=tuple(np.maximum(loss / high, low / loss)),
        bound=(1 + _eps(numbers, numbers["steps"][-1]) * 20,),
        origin="the bracket of the margins, to rounding; the bounds differ by "
        f"{100 * (high / low - 1).max():.1g} % at most",
        **_runs(numbers),
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
        bound=tuple(bound.ravel() + _eps(numbers, 10)),
        origin="bf.theory.moved_stable_rank: by what angle the constant part of the block, which the "
        f"logarithm of time outgrows, can turn it; {100 * used.min():.0f} to {100 * used.max():.0f} % of it "
        "are used",
        **{**_runs(numbers), "each": "blocks"},
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
        measured=(*ratio.ravel(), *drawn.ravel()),
        bound=(1 + _eps(numbers, 10),),
        origin="an inequality, to rounding",
        **{**_runs(numbers), "each": "blocks"},
    )
