"""Claims on exactly orthogonal inputs with fixed activation patterns, shared by two figures."""

from __future__ import annotations

import numpy as np

from biasfree_papers.experiment import Claim, of_runs
from biasfree_papers.shared.sign_blocks import off_middle
from biasfree_papers.shared.trajectories import ROUNDING
from biasfree_papers.types import Numbers


def eps(numbers: Numbers, steps: float = 1) -> float:
    """The rounding error of `steps` steps, or of as many operations on matrices."""
    terms = 2 * numbers["samples"] + numbers["width"]
    return float(steps * terms * np.finfo(float).eps)


def constant_part(numbers: Numbers, moved: np.ndarray, *, steps: float) -> Claim:
    """The change of the constant part of W₁ after `steps` steps."""
    return Claim(
        sentence="on orthogonal inputs, while gates last, W₁ is the shortest layer with its margins plus a "
        "constant (change of that constant over |W₁|)",
        source="derived here: W₁ moves in the span of the gradients of the margins, of which the first part "
        "is",
        kind="ours",
        measured=tuple(moved.ravel()),
        bound=(eps(numbers, steps),),
        origin=f"zero up to {ROUNDING}",
        **of_runs(numbers),
    )


def bracketed_margins(
    numbers: Numbers, z: np.ndarray, low: np.ndarray, high: np.ndarray, *, steps: float, wide: str, paper: str
) -> Claim:
    """The position of the last margins in their brackets; `wide` describes the width of the brackets."""
    rounding = eps(numbers, steps) * float(np.abs(z).max())
    return Claim(
        sentence="on orthogonal inputs margins grow as z + e^z = ct + constant, each by itself: all tend to "
        "ln t, and the normalised ones to one value (how far the last are from the middle of their bracket, "
        f"over half its width; brackets are {wide})",
        source=f"derived here, with the error of a finite step; {paper} for the equal margins",
        kind="ours",
        measured=tuple(off_middle(z, low, high, rounding=rounding).ravel()),
        bound=(1.0,),
        origin="from the step on from which gates last z + e^z grows per step by ηc at least and ηc(e^δ − "
        "1)/δ at most, δ a bound on the step of z that falls from doubling to doubling; brackets include "
        "rounding",
        **of_runs(numbers),
    )
