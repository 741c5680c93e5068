"""Claims of ours on frequencies on the circle, with derived bounds."""

from __future__ import annotations

from typing import Any

import numpy as np

from biasfree_papers.basri2019.numbers import odd
from biasfree_papers.experiment import Claim
from biasfree_papers.shared.trajectories import ROUNDING
from biasfree_papers.types import Numbers


def claims(numbers: Numbers) -> list[Claim]:
    """The floor of two bias-free layers on odd frequencies, and that there is none on the others."""
    return [
        _floor(numbers),
        _moving(numbers),
        _split(numbers),
        _still(numbers),
        _exact(numbers),
        _silent(numbers),
    ]


def _floor(numbers: Numbers) -> Claim:
    """Over all times, from the paired starts."""
    chosen = odd(numbers["frequencies"])
    lowest = numbers["two_loss"][chosen].min(axis=-1)
    floors = np.broadcast_to(numbers["floor"][chosen, None], lowest.shape)
    return _every_run(
        numbers,
        sentence="on odd frequencies k ≥ 3 the loss of two bias-free layers is never below that of the best "
        "linear map, ½⟨y²⟩ (lowest loss of each run)",
        source="[ZSL25] Thm. 1 and Corollary 2; derived here for even grids, any weights, time and width",
        measured=lowest,
        bound=floors - _slack(numbers),
        origin="two_layer_gap, less rounding",
        sense="at least",
        identity=True,
    )


def _moving(numbers: Numbers) -> Claim:
    chosen = odd(numbers["frequencies"])
    loss, draws = numbers["moving_loss"], len(numbers["seeds"])
    floors = np.broadcast_to(np.repeat(numbers["floor"][chosen], draws), loss.shape[:2])
    return _every_run(
        numbers,
        sentence="nor is it from unpaired starts, of 8 neurons and of as many as the others have (lowest "
        f"loss; it falls from at most {loss[..., 0].max():.3g} to at most "
        f"{loss[..., -1].max():.6f})",
        source="[ZSL25] Thm. 1 and Corollary 2; derived here for even grids, any weights, time and width",
        measured=loss.min(axis=-1),
        bound=floors - _slack(numbers),
        origin="two_layer_gap, less rounding",
        sense="at least",
        identity=True,
    )


def _split(numbers: Numbers) -> Claim:
    return _every_run(
        numbers,
        sentence="what their loss is above it is the loss of the linear part and that of the even part (|L − "
        "sum|)",
        source="derived here: L = L_lin(√c·W) + ⟨f_e²⟩/2 on symmetric data",
        measured=numbers["moving_split"],
        bound=np.full(numbers["moving_split"].shape, _slack(numbers)),
        origin=f"zero up to {ROUNDING}",
        identity=True,
    )


def _still(numbers: Numbers) -> Claim:
    return _every_run(
        numbers,
        sentence="on odd frequencies k ≥ 3 two bias-free layers that start with f = 0 do not move (change of "
        "the weights)",
        source="derived here: ⟨yx⟩ = 0 and f_e = 0, so the gradient is zero on symmetric data",
        measured=numbers["two_moved"][odd(numbers["frequencies"])],
        bound=np.full(numbers["two_moved"][odd(numbers["frequencies"])].shape, numbers["rounding"]),
        origin=f"zero up to {ROUNDING}",
    )


def _exact(numbers: Numbers) -> Claim:
    chosen = ~odd(numbers["frequencies"])
    return Claim(
        sentence="k = 1 and even k are expressed by explicit weights of two bias-free layers, kinks at all "
        "samples (loss)",
        source="derived here; that they are expressible: Basri et al. 2019",
        kind="ours",
        identity=True,
        measured=tuple(numbers["exact_loss"][chosen]),
        bound=tuple(numbers["exact_bound"][chosen]),
        origin="rounding: half the square of ε times the terms of the sums times the outer weights",
        seeds=tuple(numbers["seeds"]),
        each="frequencies",
    )


def _silent(numbers: Numbers) -> Claim:
    """Of the kernel on the grid of the run."""
    chosen = odd(numbers["frequencies"])
    return Claim(
        sentence="the kernel of very wide bias-free networks of two layers has rate 0 at odd k ≥ 3 (rate "
        "over that of k = 1)",
        source="derived here: its odd part is linear",
        kind="ours",
        identity=True,
        measured=tuple(np.abs(numbers["two_rates"][chosen]) / numbers["two_rates"].max()),
        bound=(4 * float(numbers["points"]) * np.finfo(float).eps,),
        origin="rounding: machine epsilon times the terms of the sum",
        seeds=tuple(numbers["seeds"]),
        each="frequencies",
    )


def _every_run(numbers: Numbers, *, measured: np.ndarray, bound: np.ndarray, **rest: Any) -> Claim:
    """A claim of ours on the runs of odd frequencies k ≥ 3."""
    rest |= {"measured": tuple(measured.ravel()), "bound": tuple(bound.ravel())}
    return Claim(kind="ours", seeds=tuple(numbers["seeds"]), each="runs", **rest)


def _slack(numbers: Numbers) -> float:
    """Rounding of a loss: a mean over the points of squares of sums over the neurons."""
    return float(numbers["rounding"])
