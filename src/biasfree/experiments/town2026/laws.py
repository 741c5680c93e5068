"""The two laws in n, fitted to stored numbers."""

from __future__ import annotations

import numpy as np

from biasfree.experiments.experiment import Numbers


def slopes(numbers: Numbers) -> tuple[float, float]:
    """Of the width of ½ against ln n: the least-squares slope, and its standard error by bootstrap."""
    logs, boots = np.log(numbers["samples"]), numbers["half_boots"]
    known = boots[:, np.isfinite(boots).all(axis=0)]
    spread = np.polyfit(logs, known, 1)[0].std()
    return float(np.polyfit(logs, numbers["half"], 1)[0]), float(spread)


def exponents(numbers: Numbers) -> np.ndarray:
    """Of ½|θ|² against n at the large width, one least-squares fit a seed."""
    return np.polyfit(np.log(numbers["samples"]), np.log(numbers["wide_norm"]), 1)[0]


def local_exponents(numbers: Numbers) -> np.ndarray:
    """The same from one n to the next, (n's less one, seeds)."""
    logs = np.log(numbers["samples"])
    return np.diff(np.log(numbers["wide_norm"]), axis=0) / np.diff(logs)[:, None]
