"""Claims and table on orthogonal samples: coverage decides, one neuron per saddle, and two laws in n."""

from __future__ import annotations

import numpy as np
import xarray

from biasfree.tables import Table
from biasfree_papers.experiment import Claim
from biasfree_papers.shared.statistics import written
from biasfree_papers.statements import ours, paper, table

_PAPER = "Town et al. (2026)"
_FALSE_ALARM, _LEVEL = 1e-4, 0.95


def claims(n: xarray.Dataset) -> list[Claim | Table]:
    """Ours, then the paper's; two numbers of samples always lie on a line."""
    straight = [threshold(n)] if n.sizes["samples"] > 2 else []
    return [_shares(n), _floor(n), _one_by_one(n), *straight, order(n), _by_samples(n)]


def _shares(n: xarray.Dataset) -> Claim:
    from scipy.stats import binomtest

    cells = zip(n.covered.values.flat, n.probability.values.flat, strict=True)
    chances = [binomtest(int(k), int(n.draws), p).pvalue for k, p in cells if np.isfinite(k)]
    return ours(
        "the share of seeds that cover every sample, which decides whether flow fits them all, is the one of "
        "the formula, for every n and width",
        chance_of_a_share_at_least_as_unlikely=chances,
        at_least=_FALSE_ALARM / len(chances),
        source="derived here: biasfree_papers.town2026.uncovered_samples.interpolation_probability",
        bound="binomial with the probability of the formula; all cells together raise a false alarm with a "
        f"probability of {_FALSE_ALARM:g} at most",
        nature="prediction",
        each="cells",
    )


def _floor(n: xarray.Dataset) -> Claim:
    step = float(n.step)
    ratio = np.sqrt(1 + step * (1 + step) ** 2 / (2 + step))  # growth by 1 + ε per step, then none in one
    return ours(
        "the loss never falls below Σy²/(2P) over the samples that no neuron of their sign is initially "
        "active on",
        lowest_loss_less_that=n.below,
        at_least=-n.samples * np.finfo(float).eps,
        source="derived here: biasfree_papers.town2026.uncovered_samples.loss_floor",
        bound="such a sample keeps y f ≤ 0 while a_h keep their signs; less the rounding of a mean of n "
        f"squares, nε. A step changes a_h by ηw_h·g, and η|g| ≤ {step:g}√(2L) ≤ {step:g} as the loss L falls "
        f"from ½: a_h turns over only if |w_h| > {1 / step:g}|a_h|. And a_h² − |w_h|², positive at first, "
        f"loses (η|g|a_h)² per step at most, which adds up to |w_h| ≤ {ratio:.2f}|a_h| in steady growth: an "
        "estimate, no proof for every step",
        nature="prediction",
    )


def _one_by_one(n: xarray.Dataset) -> Claim:
    expected = 1 + np.arange(n.sizes["escape"])
    wrong = ((n.directions != expected) & n.directions.notnull()).sum("escape")
    half = wrong.size // 2
    sets = wrong[:half], wrong[half:]
    counts = [f"{int((one == 0).sum())} of {one.size} from seed {int(one.saddle_seed[0])}" for one in sets]
    return paper(
        "from vanishing weights every escape adds one direction: k of them have grown half-way from the k-th "
        "escape to the next",
        escapes_after_which_it_is_another_number=wrong,
        at_most=0.0,
        basis="stated",
        source=_PAPER,
        bound="the law; grown is |a_h||w_h| > 0.01, a direction 10° wide",
        headline=True,
        each="seeds",
        seeds=tuple(n.saddle_seed.values),
        note="Neurons that are due at nearly the same time escape together at any γ that is not zero. "
        f"It holds for {' and for '.join(counts)}.",
    )


def threshold(n: xarray.Dataset) -> Claim:
    """The width of ½, on a line in ln n."""
    from scipy.stats import chi2

    freedom = n.sizes["samples"] - 2
    formula = float(np.polyfit(np.log(n.samples), n.exact_half, 1)[0])
    return paper(
        "half of the networks can fit all samples at a width that grows as log n: "
        f"{written(n.slope, n.slope_error)} neurons for every factor e in n",
        chi_square_of_the_widths_about_a_line_in_ln_n=n.misfit,
        at_most=chi2.ppf(_LEVEL, freedom),
        basis="derived",
        source=_PAPER,
        bound=f"the {_LEVEL:.0%} quantile of χ² with {freedom} degrees of freedom, standard errors by "
        "bootstrap over seeds, which are others at every n; the paper gives no constant that we know of. "
        f"Derived here: 2/ln 2 = 2.89 for n → ∞, and {formula:.2f} by the formula over these n",
        headline=True,
        each="fits",
    )


def order(n: xarray.Dataset) -> Claim:
    """Of all trained networks, and of the limit, which goes to larger n."""
    limit = n.limit_norm / np.sqrt(2 * n.limit_samples)
    return paper(
        "the squared norm of the networks that fit is of the order of √n: trained, n = "
        f"{int(n.samples[0])} to {int(n.samples[-1])}, and in the limit γ → 0 of the same seeds, n up to "
        f"{int(n.limit_samples[-1])}",
        half_squared_norm_over_that_of_the_shortest=np.append(_over_least(n), limit),
        at_most=1 + np.sqrt(2),
        basis="derived",
        source=_PAPER,
        bound="the paper gives no constant that we know of; 1 + √2 is the limit n → ∞ after γ → 0, derived "
        "here to leading order, from below",
        headline=True,
        each="seeds and n",
    )


def _by_samples(n: xarray.Dataset) -> Table:
    """Both laws in n; widths were measured up to the largest n that was trained."""
    at = {"samples": n.limit_samples.values}
    width, error, formula, trained = (
        one.reindex(at).rename(samples="limit_samples")
        for one in (n.half, n.half_error, n.exact_half, _over_least(n).mean("seed"))
    )
    limit = n.limit_norm / np.sqrt(2 * n.limit_samples)
    return table(
        "Against the number of samples n: the width at which half of the networks fit, and ½|θ|²/√(2n), the "
        f"mean over {n.sizes['seed']} seeds",
        over="limit_samples",
        columns={
            "n": n.limit_samples,
            "width, formula": formula,
            f"width, {int(n.draws)} seeds": width,
            "standard error": error,
            "norm, trained": trained,
            "norm, γ → 0": limit.mean("seed"),
        },
    )


def _over_least(n: xarray.Dataset) -> xarray.DataArray:
    return n.norm.sel(trained_width="large") / n.least
