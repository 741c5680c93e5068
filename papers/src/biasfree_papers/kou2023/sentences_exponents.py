"""The exponent of the loss at the end of each run, measured and by the law of orthogonal inputs."""

from __future__ import annotations

import numpy as np

from biasfree.theory.neighbors import margin_course
from biasfree_papers.types import Numbers


def exponents(numbers: Numbers) -> np.ndarray:
    """Slopes of ln loss against ln t over the last doublings, by inputs, seed and leak."""
    late = _late(numbers)
    return _slopes(numbers["steps"][late], numbers["loss"][..., late])


def standard_errors(found: np.ndarray) -> np.ndarray:
    """Of the mean over seeds, by inputs and leak; NaN for one seed."""
    seeds = found.shape[1]
    return found.std(axis=1, ddof=1) / np.sqrt(seeds) if seeds > 1 else np.full_like(found[:, 0], np.nan)


def law(numbers: Numbers) -> np.ndarray:
    """The same of the flow on orthogonal inputs, by seed and leak: −1 up to ln(ct)/(ct)."""
    late = numbers["steps"][_late(numbers)]
    rate = numbers["rate"][-1]
    z = margin_course(np.zeros_like(rate), rate, late * float(numbers["step"]))
    return _slopes(late, np.moveaxis(np.log1p(np.exp(-z)).mean(axis=-1), 0, -1))


def _late(numbers: Numbers) -> np.ndarray:
    return numbers["steps"] >= numbers["steps"][-1] / 2 ** int(numbers["window"])


def _slopes(steps: np.ndarray, loss: np.ndarray) -> np.ndarray:
    x, y = np.log(steps), np.log(loss)
    x = x - x.mean()
    return (y - y.mean(axis=-1, keepdims=True)) @ x / (x @ x)
