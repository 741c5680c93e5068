"""Claims of App. C.4: the equivalence under L2, its reduced flow, and its limit."""

from __future__ import annotations

import numpy as np

from biasfree.tables import Table
from biasfree_papers.experiment import Claim
from biasfree_papers.types import Numbers

_END = 1e-3  # in units of s; farther from its limit a run has not ended
_FLOW = (
    "the simulator's own error estimates of the two runs; on white data errors do not grow, relative to the "
)


def claims(numbers: Numbers) -> list[Claim]:
    """All ours: of the appendix only its subject is known."""
    return [_equivalence(numbers), _reduced(numbers), _limit(numbers), _ends(numbers)]


def _equivalence(numbers: Numbers) -> Claim:
    accuracy = numbers["accuracy"]
    return Claim(
        sentence="with L2 of λ a (leaky) ReLU network follows the linear one with λ/c: √c·W(t) = W_lin(ct) "
        "(largest weight error along the path)",
        source="[ZSL25] TMLR App. C.4; the form λ/c is derived here",
        kind="ours",
        measured=tuple(numbers["twin_error"][:, :-1].ravel()),
        bound=tuple((accuracy[:, :-1] + accuracy[:, -1:]).ravel()),
        origin=_FLOW + "weights",
        seeds=(int(numbers["seeds"][0]),),
        each="strengths and leaks",
    )


def _reduced(numbers: Numbers) -> Claim:
    return Claim(
        sentence="the reduced flow with L2 gives the weights (largest distance along the path, relative)",
        source="derived here from [ZSL25] Eq. 34",
        kind="ours",
        measured=tuple(numbers["reduced_error"].ravel()),
        bound=tuple(numbers["accuracy"].ravel() + 1e-8),
        origin=_FLOW + "weights; plus 1e-8 for the reduced flow, a hundred times its tolerance",
        seeds=(int(numbers["seeds"][0]),),
        each="strengths and leaks",
    )


def _limit(numbers: Numbers) -> Claim:
    """From the rank-one start, all leaks; what the flow still has to go is in the bound."""
    return Claim(
        sentence="on white data the map learned with L2 ends at max(s − λ/c, 0)·β̄ (distance at the last time "
        "in units of s, from a rank-one start)",
        source="derived here; [ZSL25] TMLR App. C.4",
        kind="ours",
        measured=tuple(numbers["path_gap"].ravel()),
        bound=tuple(np.minimum(numbers["path_left"] + 4 * numbers["accuracy"], _END).ravel()),
        origin="how far the reduced flow still is at the last time; plus the simulator's own error estimate, "
        f"twice for a product of two layers and twice for |w| ≤ 2s; and {_END:g} at most: farther away a run "
        "has not ended",
        seeds=(int(numbers["seeds"][0]),),
        each="strengths and leaks",
    )


def _ends(numbers: Numbers) -> Claim:
    """ReLU and linear, for which the halves of the draw say how far the end is."""
    gap = np.maximum(numbers["end_gap"][:, :, 0], numbers["end_gap"][:, :, -1])
    return Claim(
        sentence="descent with L2 from small Gaussian weights ends at the shrunken least-squares solution, "
        "white data or not (distance in units of s, ReLU or linear, the larger)",
        source="derived here; [ZSL25] TMLR App. C.4",
        kind="ours",
        measured=tuple(gap.ravel()),
        bound=tuple(np.minimum(3 * numbers["end_left"] + float(numbers["rounding"]), _END).ravel()),
        origin="three times how far from its limit the slower half of the draw's ReLU network is by then "
        "(reduced flow, slowed by forward Euler's ηs/2) and what L2 leaves of the initial map; plus "
        f"rounding; and {_END:g} at most: farther away a run has not ended",
        seeds=tuple(numbers["seeds"]),
        each="data, strengths and draws",
    )


def tables(numbers: Numbers) -> list[Table]:
    """How far from the solution descent is at its end, leak by leak."""
    gaps = numbers["end_gap"].max(axis=(1, 3))
    return [
        Table(
            title="Largest distance from the L2 solution at the end, Gaussian weights, in units of s: leaks "
            "near 1 lose their ± imbalance slowly",
            columns=("leak", "white data", "before whitening"),
            rows=tuple((float(leak), *map(float, gaps[:, i])) for i, leak in enumerate(numbers["leaks"])),
        )
    ]
