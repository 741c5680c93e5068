"""Claims and tables on the early phase."""

from __future__ import annotations

from typing import Any

import numpy as np

from biasfree.tables import Table
from biasfree_papers.experiment import Claim
from biasfree_papers.types import Numbers

_RANK_ONE = 0.05


def claims(numbers: Numbers) -> list[Claim]:
    """Ours, the paper's theorem in its window, and rank one: at the plateau's end, and not before."""
    return [
        _sharper(numbers),
        _lemma(numbers),
        _linear(numbers),
        _window(numbers),
        _theorem(numbers),
        _rank_one(numbers),
        _not_yet(numbers),
    ]


def _common(numbers: Numbers, kind: str) -> dict[str, Any]:
    return {"kind": kind, "seeds": tuple(numbers["seeds"]), "each": "runs"}


def _sharper(numbers: Numbers) -> Claim:
    return Claim(
        sentence="the norm of either layer is at most u(0)e^{cst} at all times (largest ratio to it, t > 0)",
        source="derived here; compare [ZSL25] Lemma 12",
        measured=tuple((numbers["norm"] / numbers["bound"])[..., 1:].max(axis=-1).ravel()),
        bound=tuple(1 + numbers["error"].ravel()),
        origin="a theorem for the exact flow; plus the simulator's sum of relative local errors, which grow "
        "no faster than the bound",
        **_common(numbers, "ours"),
    )


def _lemma(numbers: Numbers) -> Claim:
    within = (numbers["ts"] > 0) & (numbers["ts"] <= numbers["window"][..., None])
    ratio = np.where(within, numbers["norm"] / numbers["lemma_bound"], 0.0)
    return Claim(
        sentence="the norm of either layer is at most u(0)e^{(s + TrΣ)t} in the window of Lemma 12 (largest "
        "ratio to it, t > 0)",
        source="[ZSL25] Lemma 12, Eq. 17",
        measured=tuple(ratio.max(axis=-1).ravel()),
        bound=tuple(1 + numbers["error"].ravel()),
        origin="the lemma; plus the simulator's sum of relative local errors",
        **_common(numbers, "ours"),
    )


def _allowed(numbers: Numbers) -> np.ndarray:
    """The bound on |W − W̃| and what the simulator's errors can have grown to."""
    return numbers["gap_bound"] + np.sqrt(2) * numbers["error"][..., None] * numbers["bound"]


def _linear(numbers: Numbers) -> Claim:
    return Claim(
        sentence="the weights are those of Eq. 23, all three terms, up to the cubic error bound (largest "
        "ratio of the gap to its bound)",
        source="[ZSL25] Thm. 13, Eq. 23; the bound is derived here",
        measured=tuple((numbers["gap"] / _allowed(numbers)).max(axis=-1).ravel()),
        bound=(1.0,),
        origin="√2·TrΣ·u(0)³e^{κt}(e^{2κt} − 1)/2κ; plus the simulator's sum of relative local errors "
        "times √2·u(0)e^{κt}",
        **_common(numbers, "ours"),
    )


def _window(numbers: Numbers) -> Claim:
    return Claim(
        sentence="half of the drop of the loss is not done before weights can be large enough for it (the "
        "first saved time at which it is, over the earliest possible one)",
        source="derived here; compare [ZSL25] Lemma 12 and Thm. 13",
        measured=tuple((numbers["half"] / numbers["earliest_half"]).ravel()),
        bound=(1.0,),
        sense="at least",
        origin="outputs are at most as large as u(t)² ≤ u(0)²e^{2cst} allows: the loss cannot have fallen by "
        "half its drop while cs·u(0)²(e^{2cst} + 1) + TrΣ·u(0)⁴/2 is smaller than that",
        **_common(numbers, "ours"),
    )


def _at(numbers: Numbers, name: str, when: str) -> np.ndarray:
    """A quantity at the saved time next to the one called `when`; leaks by draws."""
    i = np.argmin(np.abs(numbers["ts"] - numbers[when][..., None]), axis=-1)
    return np.take_along_axis(numbers[name], i[..., None], axis=-1)[..., 0]


def _in_window(numbers: Numbers) -> np.ndarray:
    return numbers["ts"] <= numbers["window"][..., None]


def _theorem(numbers: Numbers) -> Claim:
    first = numbers["norm"][..., :1]
    share = np.where(_in_window(numbers), numbers["lead_gap"] / first, 0.0).max(axis=-1)
    allowed = np.where(_in_window(numbers), _allowed(numbers) / first, 0.0).max(axis=-1)
    return Claim(
        sentence="in Lemma 12's window weights grow along one direction up to O(w_init) (largest distance "
        "from e^{cst}[r₁β̄ᵀ, r₁ᵀ] over w_init)",
        source="[ZSL25] Thm. 13, Eq. 20",
        measured=tuple(share.ravel()),
        bound=tuple((np.sqrt(2) + allowed).ravel()),
        origin="the constant is derived here: the two other terms of Eq. 23 are at most √2·w_init, and the "
        "cubic error and the simulator's are as above",
        basis="derived",
        note="The cubic error stays below w_init on all of the window where cs < ⅔(s + TrΣ).",
        **_common(numbers, "paper"),
    )


def _rank_one(numbers: Numbers) -> Claim:
    return Claim(
        sentence="weights are of rank one, W₁ = W₂ᵀrᵀ, with small errors at the end of the early phase, read "
        "as that of the plateau (distance, relative)",
        source="[ZSL25] on Assumption 4 of v1 (TMLR 7); when the early phase ends is our reading",
        measured=tuple(_at(numbers, "residual", "plateau").ravel()),
        bound=(_RANK_ONE,),
        origin=f"the paper gives no number; we take {_RANK_ONE:g}",
        rebuilt=True,
        **_common(numbers, "paper"),
    )


def _not_yet(numbers: Numbers) -> Claim:
    grown = (_at(numbers, "norm", "window") / numbers["norm"][..., 0]).max()
    return Claim(
        sentence="Lemma 12's window ends before weights are of rank one (distance at its end, relative)",
        source="measured here; [ZSL25] Thm. 13 has errors of O(w_init) in this window, where weights are of "
        "that size themselves",
        measured=tuple(_at(numbers, "residual", "window").ravel()),
        bound=(_RANK_ONE,),
        sense="at least",
        origin=f"the {_RANK_ONE:g} that we take for rank one",
        note=f"The window is too short for the growing term to win: norms grow at most {grown:.1f}-fold in "
        "it.",
        **_common(numbers, "observed"),
    )


def tables(numbers: Numbers) -> list[Table]:
    """Times and distances, leak by leak and draw by draw."""
    columns = ("leak", "seed", "window", "plateau", "half of the drop")
    columns += ("distance at the window's end", "at the plateau's", "angle to β̄ there (degrees)")
    rows = [
        (
            float(leak),
            int(seed),
            *(float(numbers[name][i, j]) for name in ("window", "plateau", "half")),
            *(float(_at(numbers, "residual", when)[i, j]) for when in ("window", "plateau")),
            float(np.degrees(_at(numbers, "angle", "plateau")[i, j])),
        )
        for i, leak in enumerate(numbers["leaks"])
        for j, seed in enumerate(numbers["seeds"])
    ]
    return [Table("How long the early phase is, and what it leaves", columns, tuple(rows))]
