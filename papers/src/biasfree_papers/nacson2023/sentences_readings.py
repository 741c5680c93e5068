"""Quantities read from the stored numbers for claims, tables and picture."""

from __future__ import annotations

from math import comb

import numpy as np

from biasfree_papers.shared.exponents import mean_and_error
from biasfree_papers.types import Numbers

CONVERGED, RESTING, MOVING, DIVERGED = range(4)


def steps(numbers: Numbers) -> np.ndarray:
    """η, (sets, rungs, starts)."""
    return by_set(numbers, "ceiling") * numbers["rungs"][:, None]


def converged(numbers: Numbers) -> np.ndarray:
    """(sets, rungs, starts): whether descent came to a minimum."""
    return numbers["outcome"] == CONVERGED


def settled(numbers: Numbers) -> np.ndarray:
    """Converged, all neurons off all kinks within reach of a kick, and the kick never grows."""
    return converged(numbers) & ~_grown(numbers) & (numbers["kink"] > numbers["reach"])


def growing(numbers: Numbers) -> np.ndarray:
    """Converged, with no neuron on a kink, or so near to one that the kick itself crosses it; the kick grows:
    descent did not settle."""
    return converged(numbers) & _grown(numbers) & (numbers["kink"] > numbers["distance"])


def on_kinks(numbers: Numbers) -> np.ndarray:
    """The other minima: some neuron is so near to the kink of a sample that a kick may cross it."""
    return converged(numbers) & ~settled(numbers) & ~growing(numbers)


def _grown(numbers: Numbers) -> np.ndarray:
    """Whether the loss after a kick was ever above what the kick made it."""
    return numbers["kick_largest"] > numbers["kick_loss"]


def ratio(numbers: Numbers, name: str = "sharpness") -> np.ndarray:
    """Sharpness over 2/η."""
    return numbers[name] * steps(numbers) / 2


def by_set(numbers: Numbers, name: str) -> np.ndarray:
    """What is known of the set of every start, with an axis for rungs."""
    return numbers[name][:, None, :]


def residual(numbers: Numbers) -> np.ndarray:
    """√⟨(f − y)²⟩ of every run."""
    return np.sqrt(2 * numbers["loss"])


def stability_bound(numbers: Numbers) -> np.ndarray:
    """What sharpness·η/2 can be at a minimum that was kicked to a residual r and then never above |r|.

    Of |r| a share `top` is along the sharpest direction, where every step multiplies by ηλ − 1, but for what
    the kernel changes within reach Δ, at most δ = 3√λXΔ + X²Δ². Were ηλ − 1 > 1 + ηδ/top + s with
    (1 + s)ⁿ = 1/top, that part alone would be above |r| after n steps.
    """
    far, root = by_set(numbers, "longest") * numbers["reach"], np.sqrt(numbers["sharpness"])
    grown = np.expm1(-np.log(numbers["top"]) / numbers["kicked"])
    return 1 + (steps(numbers) * (3 * root * far + far**2) / numbers["top"] + grown) / 2


def followed(numbers: Numbers) -> tuple[np.ndarray, np.ndarray]:
    """(sets, rungs) and (sets, starts): all steps up to one, and the starts that converge at all of them.

    The steps go on as long as these are half of those of the least step, so that the same are compared.
    """
    so_far = np.logical_and.accumulate(converged(numbers), axis=1)
    count = so_far.sum(axis=2)
    rungs = (2 * count >= count[:, :1]) & (count > 0)
    return rungs, (so_far | ~rungs[:, :, None]).all(axis=1) & rungs.any(axis=1)[:, None]


def smallest_and_largest(numbers: Numbers) -> tuple[np.ndarray, np.ndarray]:
    """(sets, starts): the least and the largest rung at which a start converges; −1 where there is none."""
    there = converged(numbers)
    first, last = there.argmax(axis=1), len(numbers["rungs"]) - 1 - there[:, ::-1].argmax(axis=1)
    none = ~there.any(axis=1)
    return np.where(none, -1, first), np.where(none, -1, last)


def at(values: np.ndarray, rungs: np.ndarray) -> np.ndarray:
    """(sets, starts): values at one rung for each start; NaN at rung −1."""
    found = np.take_along_axis(values, rungs[:, None, :].clip(min=0), axis=1)[:, 0]
    return np.where(rungs < 0, np.nan, found)


def correlations(numbers: Numbers) -> np.ndarray:
    """(sets, starts): the rank correlation of norm and step over the steps at which a start converges."""
    found = np.full(numbers["norm"][:, 0].shape, np.nan)
    for i, j in np.ndindex(found.shape):
        norm = numbers["norm"][i, :, j][converged(numbers)[i, :, j]]
        if len(norm) >= 3:
            found[i, j] = np.corrcoef(np.arange(len(norm)), norm.argsort().argsort())[0, 1]
    return found


def sign_test(values: np.ndarray) -> float:
    """How likely at least as many negative values are if either sign is."""
    values = values[np.isfinite(values)]
    negative = int(np.sum(values < 0))
    return sum(comb(len(values), k) for k in range(negative, len(values) + 1)) / 2 ** len(values)


def exponents(numbers: Numbers) -> np.ndarray:
    """(sets, starts): d ln(norm)/d ln(η) over the steps that make the minimum of the least step unstable."""
    first, _ = smallest_and_largest(numbers)
    sharp = at(numbers["sharpness"], first)
    binding = converged(numbers) & (steps(numbers) * sharp[:, None, :] > 2)
    found = np.full(first.shape, np.nan)
    for i, j in np.ndindex(found.shape):
        here = binding[i, :, j]
        if here.sum() >= 2:
            found[i, j] = np.polyfit(np.log(numbers["rungs"][here]), np.log(numbers["norm"][i, here, j]), 1)[
                0
            ]
    return found


def finite_mean_and_error(values: np.ndarray) -> tuple[float, float]:
    """The mean of the finite values and its standard error, NaN if fewer than two."""
    finite = values[np.isfinite(values)]
    return mean_and_error(finite) if len(finite) > 1 else (np.nan, np.nan)
