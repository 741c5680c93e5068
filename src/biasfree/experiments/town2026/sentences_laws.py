"""What the paper says of n: the width ~ log n, the squared norm ~ √n."""

from __future__ import annotations

import numpy as np

from biasfree.experiments.experiment import Claim, Numbers
from biasfree.experiments.town2026.laws import exponents, local_exponents, slopes

_PAPER = "Town et al. (2026)"


def law_claims(numbers: Numbers) -> list[Claim]:
    """Both laws, fitted."""
    return [_threshold(numbers), _exponent(numbers)]


def _threshold(numbers: Numbers) -> Claim:
    logs = np.log(numbers["samples"])
    line = np.polyval(np.polyfit(logs, numbers["half"], 1), logs)
    slope, error = slopes(numbers)
    return Claim(
        sentence="half of the networks can fit all samples at a width that grows as log n: "
        f"{slope:.2f} ± {error:.2f} neurons for every factor e in n (distance of the widths from a line in "
        "ln n, in neurons)",
        source=_PAPER,
        kind="paper",
        measured=tuple(np.abs(numbers["half"] - line)),
        bound=tuple(2 * np.nanstd(numbers["half_boots"], axis=1)),
        origin="two standard errors of the widths, by bootstrap over draws; the paper gives no constant that "
        "we know of. Derived here: 2/ln 2 = 2.89 for n → ∞, and "
        f"{float(np.polyfit(logs, numbers['exact_half'], 1)[0]):.2f} by the formula over these n",
        seeds=tuple(numbers["seeds"]),
        each="numbers of samples",
    )


def _exponent(numbers: Numbers) -> Claim:
    found = exponents(numbers)
    mean, error = found.mean(), found.std(ddof=1) / np.sqrt(len(found))
    local = ", ".join(f"{value:.2f}" for value in local_exponents(numbers).mean(axis=1))
    return Claim(
        sentence="the squared norm of the networks that fit grows as √n: the exponent over all n is "
        f"{mean:.3f} ± {error:.3f} (its distance from ½)",
        source=_PAPER,
        kind="paper",
        measured=(abs(mean - 0.5),),
        bound=(2 * error,),
        origin="two standard errors of the mean of one fit a seed",
        note="½ is for n → ∞: each neuron fits about half of the samples left, so that ½|θ|²/√(2n) rises "
        f"towards 1 + √2 with corrections of order 1/√n. From one n to the next the exponent is {local}",
        seeds=tuple(numbers["seeds"]),
        each="exponents",
    )
