"""Runs: seeds that cover all samples, their training, and neurons that escape one by one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from biasfree import data as tasks
from biasfree import theory
from biasfree_papers.settings import seeds_of
from biasfree_papers.town2026.increments import increments
from biasfree_papers.town2026.starts import samples, start
from biasfree_papers.town2026.training import trained
from biasfree_papers.types import Numbers, Report

BOOTSTRAPS = 400
_SPREAD = 0.45  # widths are drawn from this much below to this much above the one of ½


def run(settings: Mapping[str, Any], report: Report) -> Numbers:
    """Coverage of many seeds, training of some at every n, and single saddles at the least n."""
    sizes = np.array(settings["samples"])
    found = {"samples": sizes, "seeds": seeds_of(settings), "draws": np.array(settings["draws"])}
    found |= {"scale": np.array(settings["scale"]), "wide": np.array(settings["width"])}
    found |= {"step": np.array(settings["step"])}
    found |= _coverage(settings, report)
    found |= trained(settings, np.ceil(found["exact_half"]).astype(int), report)
    return found | _limit(settings, report) | increments(settings, report)


def _coverage(settings: Mapping[str, Any], report: Report) -> Numbers:
    """The number of seeds that cover every sample, at widths around the threshold: no training needed."""
    sizes, draws = settings["samples"], settings["draws"]
    widths, covered, predicted, exact, measured = [], [], [], [], []
    for n in sizes:
        report(f"{n} samples: {draws} seeds at every width")
        exact.append(_exact_half(n))
        widths.append(_widths(exact[-1]))
        predicted.append([_probability(n, m) for m in widths[-1]])
        covered.append([_covered(n, m, draws, settings["seed"]) for m in widths[-1]])
        measured.append(_half_widths(widths[-1], np.array(covered[-1]), draws, settings["seed"]))
    return {
        "widths": np.array(widths),
        "covered": np.array(covered),
        "probability": np.array(predicted),
        "exact_half": np.array(exact),
        "half": np.array([m[0] for m in measured]),
        "half_boots": np.array([m[1:] for m in measured]),
    }


def _limit(settings: Mapping[str, Any], report: Report) -> Numbers:
    """½|θ|² as γ → 0 of the seeds at the large width, and of more samples: no training needed."""
    sizes = np.union1d(settings["samples"], settings["further"])
    norms, uncovered = [], []
    for n in map(int, sizes):
        report(f"{n} samples: the limit γ → 0")
        data, seeds = samples(n), seeds_of(settings)
        starts = [start(n, settings["width"], scale=settings["scale"], seed=int(s)) for s in seeds]
        norms.append(
            [
                theory.neighbors.escape_sequence(one, data, apart_tolerance=np.inf).shares.sum()
                for one in starts
            ]
        )
        uncovered.append([theory.neighbors.uncovered_samples(one, data).sum() for one in starts])
    return {"limit_samples": sizes, "limit_norm": np.array(norms), "limit_uncovered": np.array(uncovered)}


def _probability(n: int, width: int) -> float:
    positive = int(np.sum(tasks.orthogonal(n, n).y > 0))
    return theory.neighbors.interpolation_probability(positive, n - positive, width)


def _exact_half(n: int) -> float:
    """The width at which the probability is ½, on straight lines between whole widths."""
    low = 1
    while _probability(n, low + 1) < 0.5:
        low += 1
    one, two = _probability(n, low), _probability(n, low + 1)
    return low + (0.5 - one) / (two - one)


def _widths(half: float) -> np.ndarray:
    return np.unique(np.round(half * np.linspace(1 - _SPREAD, 1 + 2 * _SPREAD, 9)).astype(int))


def _covered(n: int, width: int, draws: int, seed: int) -> int:
    """The number of seeds without uncovered samples; every n and width has its own seeds."""
    data, first = samples(n), seed + 1000 * (width + 1000 * n)
    nets = (start(n, width, scale=1.0, seed=first + i) for i in range(draws))
    return sum(not theory.neighbors.uncovered_samples(net, data).any() for net in nets)


def _half_widths(widths: np.ndarray, covered: np.ndarray, draws: int, seed: int) -> np.ndarray:
    """The width at which half of the seeds are covered, then the same of bootstrapped seeds."""
    rng = np.random.default_rng(seed)
    shares = covered / draws
    boots = rng.binomial(draws, shares, size=(BOOTSTRAPS, len(widths))) / draws
    return np.array([_crossing(widths, share) for share in (shares, *boots)])


def _crossing(widths: np.ndarray, shares: np.ndarray) -> float:
    """The width at which the shares reach ½, interpolated linearly; NaN if they do not."""
    above = np.flatnonzero(shares >= 0.5)
    if not len(above) or above[0] == 0:
        return np.nan
    i = above[0]
    return float(np.interp(0.5, shares[i - 1 : i + 1], widths[i - 1 : i + 1]))
