"""The two laws in n, fitted to stored numbers."""

from __future__ import annotations

import numpy as np

from biasfree_papers.types import Numbers


def slopes(numbers: Numbers) -> tuple[float, float]:
    """Of the width of ½ against ln n: the least-squares slope, and its standard error by bootstrap."""
    logs, boots = np.log(numbers["samples"]), numbers["half_boots"]
    known = boots[:, np.isfinite(boots).all(axis=0)]
    spread = np.polyfit(logs, known, 1)[0].std()
    return float(np.polyfit(logs, numbers["half"], 1)[0]), float(spread)


def misfit(numbers: Numbers) -> float:
    """χ² of the widths of ½ about the best line in ln n: one degree of freedom for each n beyond two."""
    logs, half = np.log(numbers["samples"]), numbers["half"]
    errors = np.nanstd(numbers["half_boots"], axis=1)
    line = np.polyval(np.polyfit(logs, half, 1, w=1 / errors), logs)
    return float(np.sum(((half - line) / errors) ** 2))


def exponents(n: np.ndarray, norms: np.ndarray) -> np.ndarray:
    """Of norms, (n's, seeds), against n: one least-squares fit a seed."""
    return np.polyfit(np.log(n), np.log(norms), 1)[0]


def local_exponents(n: np.ndarray, norms: np.ndarray) -> np.ndarray:
    """The same from one n to the next, (n's less one, seeds)."""
    return np.diff(np.log(norms), axis=0) / np.diff(np.log(n))[:, None]


def trained_limit(numbers: Numbers) -> np.ndarray:
    """The limit γ → 0 of ½|θ|² for the numbers of samples that were trained, (n's, seeds)."""
    return numbers["limit_norm"][np.searchsorted(numbers["limit_samples"], numbers["samples"])]
