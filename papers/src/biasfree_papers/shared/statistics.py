"""Statistics over seeds: exponents of power laws with their errors, and distances of samples from a law."""

from __future__ import annotations

from dataclasses import dataclass
from typing import SupportsFloat

import numpy as np

from biasfree.theory import WeightErrorLaw

#: The chance that samples of a law itself are farther from it than allowed.
ALARM = 1e-3


@dataclass(frozen=True)
class Exponent:
    """p of y = C·x^p: the mean over seeds and its standard error."""

    estimate: float
    error: float


def written(estimate: SupportsFloat, error: SupportsFloat) -> str:
    """An estimate with its error, as in 0.52 ± 0.03; "none" if there is no estimate."""
    return f"{float(estimate):.2f} ± {float(error):.2f}" if np.isfinite(float(estimate)) else "none"


def fitted(x: np.ndarray, y: np.ndarray) -> Exponent:
    """The exponent of y against x by one least-squares line per seed, in logarithms.

    The last axis of y counts seeds; x has the shape of the others. Values that are not finite are left out.
    The error is NaN for one seed, or if a seed has fewer than two different x.
    """
    across, values = np.log(np.ravel(x)), np.log(y.reshape(-1, y.shape[-1]))
    return Exponent(*mean_and_error(np.array([_slope(across, column) for column in values.T])))


def mean_and_error(values: np.ndarray) -> tuple[float, float]:
    """The mean over seeds and its standard error, NaN for one seed."""
    error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return float(np.mean(values)), float(error)


def law_distance(sample: np.ndarray, law: WeightErrorLaw) -> float:
    """The Kolmogorov–Smirnov distance of a sample from a law."""
    shares, n = law.cdf(np.sort(sample)), len(sample)
    return float(max((np.arange(1, n + 1) / n - shares).max(), (shares - np.arange(n) / n).max()))


def massart(size: int, sets: int) -> float:
    """The distance that any of so many sets of samples exceeds with a chance of `ALARM` at most.

    Dvoretzky, Kiefer, Wolfowitz and Massart: P(distance > b) ≤ 2e^{−2Nb²}.
    """
    return float(np.sqrt(np.log(2 * sets / ALARM) / (2 * size)))


def _slope(x: np.ndarray, y: np.ndarray) -> float:
    kept = np.isfinite(y)
    if len(np.unique(x[kept])) < 2:
        return np.nan
    return float(np.polyfit(x[kept], y[kept], 1)[0])
