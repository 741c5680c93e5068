"""Claims of Fig. 3 on the final weight error over seeds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from biasfree.theory import final_weight_error_law
from biasfree_papers.experiment import Claim
from biasfree_papers.types import Numbers

_ALARM = 1e-6  # the chance that a sample of the law itself is farther from it than the bound


def draw_claims(numbers: Numbers) -> list[Claim]:
    """Each draw predicts its error, and errors of many draws obey the law, which falls as H^(−1/2)."""
    return [_full(numbers), _small(numbers), _law(numbers), _simulated_law(numbers), _slope(numbers)]


def _full(numbers: Numbers) -> Claim:
    return Claim(
        sentence="the final weight error is the one its draw predicts (gap between the two)",
        source="derived here: err∞ from the ± imbalance of r₁; Fig. 3b",
        kind="ours",
        measured=tuple(np.abs(numbers["final_measured"] - numbers["final_predicted"])),
        bound=tuple(numbers["final_bound"]),
        origin="three times how far from its limit the slower half of the network is at the last time, by "
        "the reduced flow, and what is left of the start, |W(0)|/|W|; plus the simulator's own error "
        "estimates",
        seeds=tuple(numbers["seeds"]),
    )


def _small(numbers: Numbers) -> Claim:
    """The draw nearest to its bound, for each small width."""
    apart = np.abs(numbers["small_measured"] - numbers["small_predicted"])
    worst = np.argmax(apart / numbers["small_bound"], axis=1)[:, None]
    return Claim(
        sentence="the final weight error is the one its draw predicts at small widths, too, by descent on a "
        "small white task (of many draws the gap nearest to its bound)",
        source="derived here: err∞ from the ± imbalance of r₁",
        kind="ours",
        measured=tuple(np.take_along_axis(apart, worst, axis=1).ravel()),
        bound=tuple(np.take_along_axis(numbers["small_bound"], worst, axis=1).ravel()),
        origin="three times how far from its limit the slower half of the network is at the last time, by "
        "the closed form slowed by forward Euler's share, and what is left of the start, |W(0)|/|W|",
        seeds=_many(numbers, apart.shape[1]),
        each="widths",
    )


def _law(numbers: Numbers) -> Claim:
    n = len(numbers["many_predicted"])
    return Claim(
        sentence="final weight errors predicted by many draws obey their law (Kolmogorov–Smirnov distance; "
        "the figure's width first)",
        source="derived here: p² ~ Beta(n/2, (H − n)/2), n ~ Binomial(H, ½)",
        kind="ours",
        measured=(float(numbers["many_distance"]), *map(float, numbers["width_distances"])),
        bound=(_bound(n),),
        origin=_origin(n),
        seeds=_many(numbers, n),
        each="widths",
    )


def _simulated_law(numbers: Numbers) -> Claim:
    n = numbers["small_measured"].shape[1]
    return Claim(
        sentence="final weight errors simulated at small widths obey the law (Kolmogorov–Smirnov distance)",
        source="derived here: p² ~ Beta(n/2, (H − n)/2), n ~ Binomial(H, ½)",
        kind="ours",
        measured=tuple(numbers["small_distance"]),
        bound=(_bound(n),),
        origin=_origin(n),
        seeds=_many(numbers, n),
        each="widths",
    )


def _slope(numbers: Numbers) -> Claim:
    """The fitted exponent of medians over widths, whose own scatter is the bound."""
    n, x = len(numbers["many_predicted"]), np.log(numbers["widths"])
    found, exact = (np.polyfit(x, np.log(numbers[name]), 1)[0] for name in ("medians", "law_medians"))
    scatter = 1.17 / np.sqrt(n) / np.linalg.norm(x - x.mean())
    return Claim(
        sentence="the median final weight error falls as H^(−1/2) (distance of the fitted exponent from it)",
        source="derived here: err∞ ≈ ½√(3/H)·|N(0, 1)|",
        kind="ours",
        measured=(float(abs(found + 0.5)),),
        bound=(float(abs(exact + 0.5) + 5 * scatter),),
        origin="the exponent fitted to the exact medians of the law, plus five standard deviations: a median "
        "of N draws of |N(0, 1)| scatters by 1.17/√N of itself",
        seeds=_many(numbers, n),
        each="fits",
    )


def tmlr_errors(numbers: Numbers) -> list[Claim]:
    """The errors below 0.3 % of the final version, which does not say of what: of maps, and of weights."""
    bound, source = (
        0.003,
        "[ZSL25] TMLR Fig. 3b: Thm. 8 holds with errors of less than 0.3 %, of what is not said",
    )
    maps = Claim(
        sentence=f"read of functions: the linear map of ReLU is within {100 * bound:g} % of that of the "
        "linear network (largest error along the path)",
        source=source,
        kind="paper",
        measured=tuple(numbers["final_map_error"]),
        bound=(bound,),
        origin=_stated(bound),
        seeds=tuple(numbers["seeds"]),
        basis="stated",
        rebuilt=True,
    )
    weights = close_weights(numbers, bound, source)
    return [maps, replace(weights, sentence=f"read of weights: {weights.sentence}", rebuilt=True)]


def close_weights(numbers: Numbers, bound: float, source: str) -> Claim:
    """A bound on the weight error, beside the share of draws that our law gives it."""
    from scipy.stats import binom

    share = float(final_weight_error_law(int(numbers["width"])).cdf(bound))
    many, measured = numbers["many_predicted"], numbers["final_measured"]
    held, n = int(np.sum(measured <= bound)), len(measured)
    few, chance = f"{held} or fewer" if held else "none", float(binom.cdf(held, n, share))
    why = (
        f"it depends on the draw: by our law for this width {100 * share:.0f} % of draws are as close, and "
        f"{few} of {n} with a chance of {100 * chance:.0f} %; of {len(many)} drawn {np.sum(many <= bound)} "
        "predict it"
    )
    return Claim(
        sentence=f"the weights of ReLU are within {100 * bound:g} % of those of the linear network (error at "
        "the last time)",
        source=source,
        kind="paper",
        measured=tuple(measured),
        bound=(bound,),
        origin=_stated(bound),
        seeds=tuple(numbers["seeds"]),
        basis="stated",
        note="" if held == n else why,
    )


def _stated(bound: float) -> str:
    return f"the paper's, less than {100 * bound:g} %"


def _many(numbers: Numbers, n: int) -> tuple[int, ...]:
    return tuple(int(numbers["seeds"][0]) + i for i in range(n))


def _bound(n: int) -> float:
    """Dvoretzky, Kiefer, Wolfowitz and Massart: P(distance > b) ≤ 2e^{−2Nb²}."""
    return float(np.sqrt(np.log(2 / _ALARM) / (2 * n)))


def _origin(n: int) -> str:
    return f"√(ln(2/p)/2N), Massart's bound for N = {n} draws of the law; exceeded with p < {_ALARM:g}"
