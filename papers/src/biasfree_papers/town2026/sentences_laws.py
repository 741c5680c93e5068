"""Claims on n: the width ~ log n, the squared norm ~ √n."""

from __future__ import annotations

import numpy as np

from biasfree_papers.experiment import Claim
from biasfree_papers.shared.exponents import mean_and_error
from biasfree_papers.town2026.sentences_fits import (
    exponents,
    local_exponents,
    misfit,
    slopes,
    trained_limit,
)
from biasfree_papers.types import Numbers

_PAPER = "Town et al. (2026)"
_LEVEL = 0.95


def law_claims(numbers: Numbers) -> list[Claim]:
    """Both laws, fitted; two numbers of samples always lie on a line."""
    straight = [_threshold(numbers)] if len(numbers["samples"]) > 2 else []
    return [*straight, _order(numbers), _exponent(numbers)]


def _threshold(numbers: Numbers) -> Claim:
    from scipy.stats import chi2

    slope, error = slopes(numbers)
    formula = float(np.polyfit(np.log(numbers["samples"]), numbers["exact_half"], 1)[0])
    return Claim(
        sentence="half of the networks can fit all samples at a width that grows as log n: "
        f"{slope:.2f} ± {error:.2f} neurons for every factor e in n (χ² of the widths about a line in ln n)",
        source=_PAPER,
        kind="paper",
        measured=(misfit(numbers),),
        bound=(float(chi2.ppf(_LEVEL, len(numbers["samples"]) - 2)),),
        origin=f"the {_LEVEL:.0%} quantile of χ² with {len(numbers['samples']) - 2} degrees of freedom, "
        "standard errors by bootstrap over draws, which are others at every n; the paper gives no constant "
        f"that we know of. Derived here: 2/ln 2 = 2.89 for n → ∞, and {formula:.2f} by the formula over "
        "these n",
        basis="derived",
        seeds=tuple(numbers["seeds"]),
        each="fits",
    )


def _order(numbers: Numbers) -> Claim:
    """Of all trained networks, and of the limit, which goes to larger n."""
    ratios = [
        (numbers["wide_norm"] / numbers["minimum"][:, None]).ravel(),
        (numbers["limit_norm"] / np.sqrt(2 * numbers["limit_samples"])[:, None]).ravel(),
    ]
    return Claim(
        sentence="the squared norm of the networks that fit is of the order of √n (½|θ|² over √(2n), that of "
        f"the shortest: trained, n = {numbers['samples'][0]} to {numbers['samples'][-1]}, and in the limit γ "
        f"→ 0 of the same draws, n up to {numbers['limit_samples'][-1]})",
        source=_PAPER,
        kind="paper",
        measured=tuple(np.concatenate(ratios)),
        bound=(1 + np.sqrt(2),),
        origin="the paper gives no constant that we know of; 1 + √2 is the limit n → ∞ after γ → 0, derived "
        "here to leading order, from below",
        basis="derived",
        seeds=tuple(numbers["seeds"]),
        each="draws and n",
    )


def _exponent(numbers: Numbers) -> Claim:
    n, scale = numbers["samples"], float(numbers["scale"])
    fits = [mean_and_error(exponents(n, norms)) for norms in (numbers["wide_norm"], trained_limit(numbers))]
    (run, run_error), (limit, limit_error) = fits
    return Claim(
        sentence=f"not yet √n at n ≤ {n[-1]}: from n = {n[0]} on the squared norm grows as n to the "
        f"{run:.3f} ± {run_error:.3f} at γ = {scale:g}, and to the {limit:.3f} ± {limit_error:.3f} in the "
        "limit γ → 0 of the same draws (exponents less ½)",
        source=f"measured here; {_PAPER} for √n as n grows",
        kind="observed",
        measured=(run - 0.5, limit - 0.5),
        bound=(2 * run_error, 2 * limit_error),
        sense="at least",
        origin="two standard errors of the mean of one fit a seed; "
        f"{int(np.sum(numbers['limit_uncovered'] > 0))} of {numbers['limit_uncovered'].size} draws leave a "
        "sample out",
        note=_why_larger(numbers),
        basis="derived",
        seeds=tuple(numbers["seeds"]),
        each="exponents",
    )


def _why_larger(numbers: Numbers) -> str:
    n, more, limit = numbers["samples"], numbers["limit_samples"], numbers["limit_norm"]
    below = 1 - numbers["wide_norm"].mean(axis=1) / trained_limit(numbers).mean(axis=1)
    ratio = limit[-1].mean() / np.sqrt(2 * more[-1])
    return (
        "½ is for larger n. As γ → 0 each neuron fits about half of the samples left, in each of about "
        "log₂ n turns up to a number that stays bounded: ½|θ|² = (1 + √2)√(2n) − O(log n) [derived here, to "
        f"leading order]. From one n to the next, up to {more[-1]}, the limit's exponent is "
        f"{_listed(local_exponents(more, limit))}, and ½|θ|²/√(2n) comes to {ratio:.2f} of 2.41. That of the "
        f"runs is {_listed(local_exponents(n, numbers['wide_norm']))}, and falls for another reason as well: "
        f"γ = {float(numbers['scale']):g} is not vanishing, and ½|θ|² is "
        f"{', '.join(f'{100 * share:.0f}' for share in below)} % below the limit"
    )


def _listed(values: np.ndarray) -> str:
    """Means over seeds, one after another."""
    return ", ".join(f"{value:.2f}" for value in values.mean(axis=1))
