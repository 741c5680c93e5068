"""Claims on Frei et al.: the paper's, and those observed."""

from __future__ import annotations

from typing import Any

import numpy as np

from biasfree_papers.experiment import Claim, of_runs
from biasfree_papers.frei2022.condition import reached
from biasfree_papers.frei2022.sentences_derived import derived
from biasfree_papers.types import Numbers

_LOW = 4.0  # stable rank that we call low: twice the most that the limit can be
_BEYOND = 0.01  # the share of |W₁|_F² beyond rank two at which it is called two
_FREI = "Frei et al. 2022"


def claims(numbers: Numbers) -> list[Claim]:
    """What is derived, then what the paper says, then what we saw."""
    paper = (_one_step, _stays, _scale, _growing, _linear, _angle, _on_margin, _rank_two)
    observed = (_large_step, _condition, _small_step, _memory)
    return [*derived(numbers), *(part(numbers) for part in (*paper, *observed))]


def _seeds(numbers: Numbers) -> dict[str, Any]:
    return {"seeds": tuple(numbers["seeds"])}


def smallest(numbers: Numbers) -> int:
    """Which of the paper's sizes of the start is the smallest."""
    return int(np.argmin(numbers["factors"]))


def _one_step(numbers: Numbers) -> Claim:
    return Claim(
        sentence="from a small start one step makes the stable rank O(1) (after one step of "
        f"{numbers['large_step']:g} from {numbers['factors'].min():g} of Xavier's start in "
        f"{numbers['dimensions'][-1]} dimensions)",
        source=_FREI,
        kind="paper",
        measured=tuple(numbers["large_ranks"][:, smallest(numbers), 1, 0]),
        bound=(_LOW,),
        origin=f"the paper gives no number that we know; we take {_LOW:g}, twice the most that the limit "
        "can be",
        **_seeds(numbers),
    )


def _stays(numbers: Numbers) -> Claim:
    return Claim(
        sentence="and it stays so throughout training (largest at any later saved step)",
        source=_FREI,
        kind="paper",
        measured=tuple(numbers["large_ranks"][:, smallest(numbers), 1:, 0].max(axis=-1)),
        bound=(_LOW,),
        origin=f"as above, {_LOW:g}",
        **_seeds(numbers),
    )


def _scale(numbers: Numbers) -> Claim:
    ends = numbers["large_ranks"][:, : len(numbers["factors"]), -1, 0]
    return Claim(
        sentence="the smaller the start the lower the rank that descent finds (least ratio of the last "
        "stable ranks of a start and of the next smaller one)",
        source=_FREI,
        kind="paper",
        basis="stated",
        measured=tuple((ends[:, 1:] / ends[:, :-1]).min(axis=-1))
        if ends.shape[1] > 1
        else (np.nan,) * len(ends),
        bound=(1.0,),
        sense="at least",
        origin="the order itself",
        **_seeds(numbers),
    )


def _growing(numbers: Numbers) -> Claim:
    return Claim(
        sentence=f"with growing dimension and step {numbers['step']:g} the smallest start ends at a low rank "
        f"(after {numbers['steps'][-1]} steps)",
        source=_FREI,
        kind="paper",
        measured=tuple(numbers["ranks"][:, :, smallest(numbers), -1, 0].ravel()),
        bound=(_LOW,),
        origin=f"as above, {_LOW:g}",
        **of_runs(numbers),
    )


def _linear(numbers: Numbers) -> Claim:
    i = smallest(numbers)
    agree = np.minimum(numbers["agree"], numbers["agree_held_out"])[:, :, i]
    return Claim(
        sentence="the boundary is linear (share of random points in the span, or of held-out samples if "
        "less, on which f has the sign of its linear part, at the end of the smallest starts)",
        source=_FREI,
        kind="paper",
        measured=tuple(agree.ravel()),
        bound=(0.95,),
        sense="at least",
        origin="the paper is about the limit, where it is 1; we take 0.95",
        **of_runs(numbers),
    )


def _angle(numbers: Numbers) -> Claim:
    return Claim(
        sentence="and close to that of the linear classifier of largest margin (angle in degrees, "
        f"{numbers['dimensions'][-1]} dimensions)",
        source=_FREI,
        kind="paper",
        measured=tuple(numbers["large_angle"][:, smallest(numbers)]),
        bound=(8.1,),
        origin="the paper gives no number that we know; we take a cosine of 0.99",
        **_seeds(numbers),
    )


def _on_margin(numbers: Numbers) -> Claim:
    """Of a network that contradicts the gates it was solved with nothing is learned about the limit."""
    known = numbers["limit_consistent"].astype(bool)
    few = ", ".join(str(d) for d in numbers["dimensions"][~known.all(axis=1)])
    return Claim(
        sentence="every sample is on the margin in the limit (share of them, in the max-margin network "
        f"whose neurons are on their side; {known.sum()} of {known.size} draws, in which that network has "
        f"these gates itself; {(~known).sum()} are undecided)",
        source=_FREI,
        kind="paper",
        basis="stated",
        measured=tuple(numbers["limit_on_margin"][known]) or (np.nan,),
        bound=(1.0,),
        sense="at least",
        origin="the statement itself",
        note=f"Undecided are draws in {few} dimensions, where inputs are farthest from orthogonal."
        if few
        else "",
        **_seeds(numbers),
        each="draws",
    )


def _rank_two(numbers: Numbers) -> Claim:
    return Claim(
        sentence="the rank tends to two at most (share of |W₁|_F² beyond it at the end, from the tiny "
        "start: orthogonal inputs, small step)",
        source=_FREI,
        kind="paper",
        measured=tuple(numbers["orthogonal_beyond"][:, :-1, -1].ravel()),
        bound=(_BEYOND,),
        origin=f"the paper is about the limit of the flow, where it is 0; we take {100 * _BEYOND:g} %",
        **of_runs(numbers),
    )


def _large_step(numbers: Numbers) -> Claim:
    return Claim(
        sentence="mixtures with the large step, outside the theorem on the flow and its near-orthogonality, "
        "are beyond rank two by more than that at the end (share of |W₁|_F² beyond it, tiny start)",
        source="measured here",
        kind="observed",
        measured=tuple(numbers["large_beyond"][:, -1, -1]),
        bound=(_BEYOND,),
        sense="at least",
        origin=f"the {100 * _BEYOND:g} % that we take for rank two",
        note="The first step of the large size is taken with the gates of the start. It stays in W₁ and is "
        "outgrown as 1/ln t only.",
        **_seeds(numbers),
    )


def _condition(numbers: Numbers) -> Claim:
    at = [reached(level, int(numbers["samples"])) for level in (1.0, 0.1)]
    return Claim(
        sentence="the inputs are nearly orthogonal, n·max|x_i·x_j|/min|x_i|² ≪ 1, as the theorem needs "
        f"(that number; it is expected to fall to 1 at {at[0]:.1g} and to 0.1 at {at[1]:.1g} dimensions)",
        source=f"the condition of {_FREI}, which their own runs do not meet",
        kind="observed",
        basis="derived",
        measured=tuple(numbers["near_orthogonality"].ravel()),
        bound=(1.0,),
        origin="1 is where the bound that we derive for the gradient becomes void",
        note="Outside the theorem by this factor, in every dimension.",
        **_seeds(numbers),
        each="draws",
    )


def _small_step(numbers: Numbers) -> Claim:
    ranks = numbers["ranks"][..., 0]
    return Claim(
        sentence=f"with step {numbers['step']:g} the paper's starts are not small: one step leaves half of "
        "the stable rank or more (ratio after to before, all sizes and dimensions)",
        source="measured here",
        kind="observed",
        basis="chosen with runs at hand",
        measured=tuple((ranks[..., 1] / ranks[..., 0]).ravel()),
        bound=(0.5,),
        sense="at least",
        origin="we take a half; the bounds by norms say as much",
        **of_runs(numbers),
    )


def _memory(numbers: Numbers) -> Claim:
    return Claim(
        sentence="on orthogonal inputs the large step ends below the limit: its first step, of random "
        "gates, is nearly of rank one and remembered (limit less the last stable rank)",
        source="measured here; the constant part of W₁ is derived",
        kind="observed",
        basis="stated",
        measured=tuple((numbers["orthogonal_limit"] - numbers["orthogonal_ranks"][..., -1, 0])[:, -1]),
        bound=(0.0,),
        sense="at least",
        origin="its sign",
        **_seeds(numbers),
    )
