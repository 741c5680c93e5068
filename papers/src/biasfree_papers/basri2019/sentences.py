"""Claims and tables on frequencies on the circle."""

from __future__ import annotations

import numpy as np

from biasfree.tables import Table
from biasfree_papers.basri2019 import sentences_proved
from biasfree_papers.basri2019.numbers import KINDS, odd
from biasfree_papers.experiment import Claim
from biasfree_papers.shared.exponents import Exponent, fitted
from biasfree_papers.types import Numbers

PAPER = "Basri et al. 2019"
LEARNED = 0.05  # the last loss over the first one below which a frequency is learned
NAMES = {"two": "two layers", "biased": "two layers with biases", "three": "three layers"}
_KERNEL = ("two", "biased")  # whose rates are known


def claims(numbers: Numbers) -> list[Claim]:
    """What is derived, what the paper says of each kind of network, and how times grow."""
    paper = [_learned(numbers, kind) for kind in KINDS]
    return [
        *sentences_proved.claims(numbers),
        *paper,
        _growth(numbers),
        _threshold(numbers),
        _kernel_growth(numbers),
        _kernel(numbers),
    ]


def tables(numbers: Numbers) -> list[Table]:
    """Medians over draws for every frequency."""
    columns = ["k", "floor of two layers"]
    columns += [f"loss, {NAMES[kind]}" for kind in KINDS]
    columns += [f"halving time, {NAMES[kind]}" for kind in KINDS]
    columns += [f"the kernel's, {NAMES[kind]}" for kind in _KERNEL]
    rows = [_row(numbers, i) for i in range(len(numbers["frequencies"]))]
    return [Table("medians over draws; times t/τ at which the error is halved", tuple(columns), tuple(rows))]


def used(numbers: Numbers, kind: str) -> np.ndarray:
    """The frequencies above 1 that this kind of network can learn."""
    ks = numbers["frequencies"]
    return (ks > 1) & ~odd(ks) if kind == "two" else ks > 1


def growth(numbers: Numbers, kind: str) -> Exponent:
    """The exponent of the halving times against k."""
    chosen = used(numbers, kind)
    return fitted(numbers["frequencies"][chosen], numbers[f"{kind}_times"][chosen])


def _ends(numbers: Numbers, kind: str) -> np.ndarray:
    """The last loss over the first, a row a frequency and a column a draw."""
    loss = numbers[f"{kind}_loss"]
    return loss[:, :, -1] / loss[:, :, 0]


def _learned(numbers: Numbers, kind: str) -> Claim:
    can = ~odd(numbers["frequencies"]) if kind == "two" else numbers["frequencies"] > 0
    which = "k = 1 and even k" if kind == "two" else "every k"
    ends = _ends(numbers, kind)[can]
    return Claim(
        sentence=f"{NAMES[kind]} learn {which} up to {numbers['frequencies'].max()} (last loss over the "
        "first)",
        source=PAPER,
        kind="paper",
        basis="chosen with runs at hand",
        measured=tuple(ends.ravel()),
        bound=(LEARNED,),
        origin="the paper gives no number; we take 5 %, against 100 % for what cannot be learned",
        seeds=tuple(numbers["seeds"]),
        each="runs",
        note="High frequencies are slow: what is not learned within these steps is on its way.",
    )


def _threshold(numbers: Numbers) -> Claim:
    """The gap between learned and not."""
    out = odd(numbers["frequencies"])
    inside = [_ends(numbers, kind)[~out if kind == "two" else slice(None)].max() for kind in KINDS]
    least = _ends(numbers, "two")[out].min(initial=np.inf)
    return Claim(
        sentence="what is learned and what is not are far apart: the largest loss, over its start, of "
        f"networks that can express the target, against {least:.3g}, the least of those that cannot",
        source=f"measured here, for {PAPER}",
        kind="observed",
        measured=tuple(inside),
        bound=(0.5 * float(least),),
        origin="we take a factor of two",
        seeds=tuple(numbers["seeds"]),
        each="kinds of networks",
    )


def _growth(numbers: Numbers) -> Claim:
    found = {kind: growth(numbers, kind) for kind in KINDS}
    missing = sum(np.isinf(numbers[f"{kind}_times"][used(numbers, kind)]).sum() for kind in KINDS)
    values = ", ".join(f"{NAMES[kind]} {one.written}" for kind, one in found.items())
    return Claim(
        sentence="the higher the frequency the slower it is learned: exponents of the time at which the "
        f"error is halved, k ≥ 2, or even k for two layers without biases: {values}; {missing} runs do not "
        "get there (exponent less two standard errors)",
        source=PAPER,
        kind="paper",
        basis="stated",
        measured=tuple(one.estimate - 2 * one.error for one in found.values()),
        bound=(0.0,),
        origin="the title has it that rates depend on frequency; we have no exponent of the paper's",
        seeds=tuple(numbers["seeds"]),
        sense="at least",
        each="kinds of networks",
    )


def _kernel_growth(numbers: Numbers) -> Claim:
    found = [growth(numbers, kind) for kind in _KERNEL]
    wide = [_kernel_exponent(numbers, kind) for kind in _KERNEL]
    return Claim(
        sentence="for two layers the exponents are those of very wide networks over the same k, "
        f"{', '.join(f'{p:.2f}' for p in wide)} without and with biases (2 as k → ∞; difference)",
        source="measured here; the exponents of very wide networks are derived here",
        kind="observed",
        basis="derived",
        measured=tuple(abs(one.estimate - p) for one, p in zip(found, wide, strict=True)),
        bound=tuple(2 * one.error for one in found),
        origin="two standard errors over draws",
        seeds=tuple(numbers["seeds"]),
        each="kinds of networks",
        note="Networks of finite width and initial norm are slower at high k: rates are small beside their "
        "fluctuations, and weights move further before the target is learned.",
    )


def _kernel_exponent(numbers: Numbers, kind: str) -> float:
    chosen = used(numbers, kind)
    return fitted(numbers["frequencies"][chosen], numbers[f"{kind}_kernel"][chosen, None]).estimate


def _kernel(numbers: Numbers) -> Claim:
    ratios = [_over_kernel(numbers, kind) for kind in _KERNEL]
    medians = ", ".join(f"{np.median(ratio):.2f}" for ratio in ratios)
    return Claim(
        sentence="very wide networks tell when two layers, without and with biases, have halved the error "
        f"(medians of time/prediction: {medians}; largest |ln(time/prediction)|)",
        source="derived here, for a width → ∞",
        kind="observed",
        basis="chosen with runs at hand",
        measured=tuple(float(np.abs(np.log(ratio)).max()) for ratio in ratios),
        bound=(0.5,),
        origin="we take a half of an e-fold; the width is finite",
        seeds=tuple(numbers["seeds"]),
        each="kinds of networks",
    )


def _over_kernel(numbers: Numbers, kind: str) -> np.ndarray:
    chosen = used(numbers, kind)
    return numbers[f"{kind}_times"][chosen] / numbers[f"{kind}_kernel"][chosen, None]


def _row(numbers: Numbers, i: int) -> tuple[object, ...]:
    return (
        int(numbers["frequencies"][i]),
        float(numbers["floor"][i]),
        *(float(np.median(numbers[f"{kind}_loss"][i, :, -1])) for kind in KINDS),
        *(float(np.median(numbers[f"{kind}_times"][i])) for kind in KINDS),
        *(float(numbers[f"{kind}_kernel"][i]) for kind in _KERNEL),
    )
