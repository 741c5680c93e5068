"""Claims on symmetric separable data; rates and the extra sample have their own files."""

from __future__ import annotations

import numpy as np

from biasfree.tables import Table
from biasfree_papers.experiment import Claim, of_runs
from biasfree_papers.lyu2021 import sentences_extra, sentences_rate
from biasfree_papers.lyu2021.linear import while_log_doubles
from biasfree_papers.types import Numbers

_PAPER = "Lyu et al. (2021); [ZSL25] Corollary 6"
_ROUNDING = "rounding: 1e-12 in the classifier's constraints, and Hε in a sum of H ≤ 1000 products, times ten"
_CLOSE = 1e-11
_END = 0.95  # of the largest margin
_LEVEL = "c/(2|w*|)"


def claims(numbers: Numbers) -> list[Claim]:
    """Derived bounds, then what the paper says of the limit, and what was seen of it."""
    return [
        _largest(numbers),
        _attained(numbers),
        _one_signed(numbers),
        _twins(numbers),
        *sentences_extra.derived(numbers),
        sentences_rate.said(numbers, sets(numbers)),
        _margin(numbers),
        *sentences_extra.said(numbers),
        _by_the_end(numbers),
        _odd(numbers),
        _predicted(numbers),
        *sentences_rate.seen(numbers, sets(numbers)),
        *sentences_extra.seen(numbers),
    ]


def tables(numbers: Numbers) -> list[Table]:
    """Margins at the end by width and leak, and with the extra sample."""
    columns = ("neurons", "chance of one sign", "draws of one sign", *map(_named, numbers["leaks"]))
    rows = tuple(_row(numbers, int(width)) for width in numbers["widths"])
    title = f"Normalised margin at the end over {_LEVEL}, median of the draws of both signs"
    return [Table(title, columns, rows), *sentences_extra.tables(numbers)]


def _named(leak: float) -> str:
    return f"α = {leak:g}"


def _row(numbers: Numbers, width: int) -> tuple[object, ...]:
    share, one_sided = numbers[f"width{width}_share"][-1], numbers[f"width{width}_one_sided"][0]
    both = share[:, ~one_sided]
    medians = np.median(both, axis=1) if both.shape[1] else np.full(len(both), np.nan)
    return (width, 2.0 ** (1 - width), f"{one_sided.sum()} of {len(one_sided)}", *map(float, medians))


def sets(numbers: Numbers) -> list[str]:
    """The names of the grids: by width, then by dimension."""
    others = [d for d in numbers["dimensions"] if d != numbers["shown_dimensions"]]
    return [*(f"width{w}" for w in numbers["widths"]), *(f"inputs{d}" for d in others)]


def _largest(numbers: Numbers) -> Claim:
    tops = [numbers[f"{name}_share"].max() for name in sets(numbers)]
    return Claim(
        sentence=f"no network on the way has a normalised margin min y f/|θ|² above {_LEVEL}, w* the "
        "max-margin classifier (largest ratio to it)",
        source="derived here from [ZSL25] Thm. 1",
        kind="ours",
        identity=True,
        measured=(*tops, *sentences_extra.tops(numbers)),
        bound=(1 + _CLOSE,),
        origin="at x and −x min y f = y ℓ(x) − |f_e(x)| ≤ y ℓ(x) with ℓ = cW₂W₁·x, of margin at most "
        f"|cW₂W₁|/|w*| ≤ c|θ|²/(2|w*|), whatever samples are added; {_ROUNDING}",
        seeds=tuple(numbers["seeds"]),
        each="sets of runs",
    )


def _attained(numbers: Numbers) -> Claim:
    gaps = [np.abs(numbers[f"{name}_embedded"] - 1).ravel() for name in sets(numbers)]
    return Claim(
        sentence=f"the balanced network that is the max-margin classifier has that margin, {_LEVEL}, on "
        "symmetric data and with the extra sample (distance of the ratio from 1)",
        source="derived here: |W₁|² = |W₂|² = |w*|/c, so min y f/|θ|² = 1/(2|w*|/c)",
        kind="ours",
        identity=True,
        measured=(*np.concatenate(gaps), *sentences_extra.attained(numbers)),
        bound=(_CLOSE,),
        origin=_ROUNDING,
        **of_runs(numbers, each="leaks, widths and draws"),
    )


def _one_signed(numbers: Numbers) -> Claim:
    levels = (2 * numbers["leaks"] / (1 + numbers["leaks"]))[:, None]
    excess = []
    for name in sets(numbers):
        chosen = numbers[f"{name}_exactly_one_signed"] & (numbers["leaks"] < 1)[:, None]
        excess += [(numbers[f"{name}_embedded_one_signed"] - levels).ravel()]
        excess += [(numbers[f"{name}_share"][-1] - levels)[chosen]]
    return Claim(
        sentence="networks whose second layer has one sign stay at or below α/(2|w*|), however long they "
        "train: ReLU networks are never right on half of the samples, where y f ≤ 0 (share of "
        f"{_LEVEL} at the last time less 2α/(1+α); those built to attain it, then those drawn)",
        source="derived here",
        kind="ours",
        identity=True,
        measured=tuple(np.concatenate(excess)),
        bound=(_CLOSE,),
        origin="σ(z) ≥ αz, so for a > 0 at the samples y = −1: y f ≤ −αΣa_h w_h·x, whose margin is at "
        f"most αΣa_h|w_h|/|w*| ≤ α|θ|²/(2|w*|); {_ROUNDING}",
        **of_runs(numbers),
    )


def _twins(numbers: Numbers) -> Claim:
    return Claim(
        sentence="from rank-one starts, with steps that grow by many decades, weights of every leak are "
        "those of the linear twin with steps c times as long (largest relative gap over time)",
        source="[ZSL25] Thm. 5 (TMLR 8); for descent derived here",
        kind="ours",
        measured=tuple(numbers["twin_gap"].ravel()),
        bound=(float(numbers["twin_bound"]),),
        origin="rounding: machine epsilon times steps times terms of the sums in a step",
        **of_runs(numbers),
    )


def _margin(numbers: Numbers) -> Claim:
    """Of draws with both signs: the papers' theorems need them."""
    left = []
    for name in sets(numbers):
        missing = while_log_doubles(numbers[f"{name}_ts"], 1 - numbers[f"{name}_share"])
        left.append(missing[~(numbers[f"{name}_one_signed"] & (numbers["leaks"] < 1)[:, None])])
    return Claim(
        sentence="from draws of both signs the normalised margin tends to the largest one for every leak and "
        f"width (what is missing from {_LEVEL} at the last time over that at its square root)",
        source=_PAPER,
        kind="paper",
        measured=tuple(np.concatenate(left)) or (np.nan,),
        bound=(1.0,),
        origin="the papers are about t → ∞ and give no rate: it falls",
        basis="stated",
        **of_runs(numbers),
    )


def _by_the_end(numbers: Numbers) -> Claim:
    return Claim(
        sentence=f"at t = {numbers[f'{sets(numbers)[0]}_ts'][-1]:.0e} the normalised margin is near the "
        f"largest one for every draw, leak and width (share of {_LEVEL})",
        source="measured here; the papers are about t → ∞",
        kind="observed",
        measured=tuple(np.concatenate([numbers[f"{name}_share"][-1].ravel() for name in sets(numbers)])),
        bound=(_END,),
        sense="at least",
        origin=f"we take {_END:g}",
        note="draws whose r₁ is of one sign, of chance 2^{1−H}, cannot get there; and near α = 1 the two "
        "signs level out only as a power of ln t",
        **of_runs(numbers),
    )


def _odd(numbers: Numbers) -> Claim:
    return Claim(
        sentence="so is the even part of the network near zero (share of its energy)",
        source="measured here; the papers are about t → ∞",
        kind="observed",
        measured=tuple(np.concatenate([numbers[f"{name}_even"].ravel() for name in sets(numbers)])),
        bound=(1e-2,),
        origin="we take a hundredth of the energy",
        note="draws whose r₁ is of one sign keep theirs, k²/(k² + c²) of the energy; and near α = 1 few "
        "neurons level out late",
        **of_runs(numbers),
    )


def _predicted(numbers: Numbers) -> Claim:
    leaky = numbers["leaks"] < 1
    wrong = [
        (numbers[f"{name}_one_sided"] != numbers[f"{name}_one_signed"])[leaky].mean()
        for name in sets(numbers)
    ]
    return Claim(
        sentence="the draw tells which networks end with one sign: those whose growing part r₁ has one, "
        "of chance 2^{1−H} (share of runs told wrongly)",
        source="derived here from [ZSL25] Thm. 13, as the scale tends to 0",
        kind="observed",
        measured=tuple(wrong),
        bound=(0.0,),
        origin="none, as the scale tends to 0",
        basis="derived",
        seeds=tuple(numbers["seeds"]),
        each="sets of runs",
    )
