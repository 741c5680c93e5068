"""Expected results of each figure's small run: counts of claims, tables and panels, and claims that fail.

A claim that no wrong number could refute says nothing, so for each claim of ours there is an array that, made
wrong, makes it fail.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import xarray

Change = Callable[[np.ndarray, xarray.Dataset], np.ndarray]


class Expected(NamedTuple):
    """Claims that are ours, the paper's and observed; rows of each table; lettered panels.

    `spoilt` names an array, how it is made wrong, and which claims then fail. `gaps` is a pattern of names of
    arrays in which infinity or NaN has a meaning: never reached, or not there. `legend` is part of a legend.
    """

    claims: tuple[int, int, int]
    rows: tuple[int, ...]
    panels: str
    spoilt: tuple[tuple[str, Change, set[int]], ...]
    gaps: str = ""
    legend: str = ""


def spoilt(numbers: Any, name: str, value: Any) -> Any:
    """The numbers with one array replaced."""
    return numbers.assign({name: (numbers[name].dims, np.asarray(value))})


def plus(amount: float | np.ndarray) -> Change:
    """Every value off by an amount."""
    return lambda values, _: values + amount


def times(factor: float, more: float = 0.0) -> Change:
    """Every value off by a factor, and by a little more."""
    return lambda values, _: factor * values + more


def first(factor: float, at: int | tuple[int, ...] = 0) -> Change:
    """The first entry off by a factor, or another one; all of a single number."""

    def change(values: np.ndarray, _: xarray.Dataset) -> np.ndarray:
        changed = values.copy()
        changed[at if values.ndim else ...] *= factor
        return changed

    return change


def at_most_zero_less(amount: float) -> Change:
    """Every value less by an amount, but not below zero."""
    return lambda values, _: np.clip(values - amount, 0, None)


EXPECTED = {
    "optimizers": Expected(
        (2, 0, 2), (), "abc", (("distance", plus(1e-9), {0, 1}),)
    ),
    "where": Expected(
        (3, 0, 6), (), "abcdefghi",
        (
            ("law_distance", plus(2.0), {0}),
            ("closed_error", plus(1e-6), {1}),
            ("excess", plus(-1e-3), {2}),
        ),
        "duration|predicted|learned|closed_samples",
        "closed form of small weights",
    ),
    "fig1": Expected(
        (4, 1, 4), (4,), "abcd",
        (
            ("loss", plus(-0.1), {0}),
            ("split", plus(1e-9), {1}),
            ("exact_loss", plus(1e-9), {2}),
            ("inhomogeneity", plus(1e-9), {3}),
        ),
        "split",
    ),
    "fig3": Expected(
        (5, 4, 0), (), "abcdef",
        (
            ("loss", first(1.05, at=(0, 0, 0)), {0, 1, 2}),
            ("loss", first(1.05, at=(0, 1, 0)), {0, 1, 2}),
            ("loss", first(1.05, at=1), {0}),
            ("loss", first(1.05, at=3), {2}),
            ("final_measured", first(1.05), {3}),
            ("final_predicted", first(1.05), {3}),
            ("small_predicted", first(1.05), {3}),
            ("many_distance", first(20), {4}),
            ("small_distance", first(20), {4}),
        ),
        "loss|weight_error|accuracy|pair_error|kept",  # leaks without logistic loss
    ),
    "fig4": Expected(
        (2, 3, 0), (), "abc",
        (
            ("outputs", first(1.1), {0}),
            ("outputs", first(1.1, at=1), {0}),
            ("weight_gap", times(1.1, 1e-2), {1}),
        ),
        "outputs|loss|learned",  # descent has one seed
    ),
    "fig5": Expected(
        (2, 3, 1), (), "abcde",
        (("exact_gap", times(0, 1e-2), {0}), ("exact_half_speed", times(0, 1e-2), {1})),
        "ts|loss|path",  # the two networks have paths of different lengths
    ),
    "fig6": Expected(
        (2, 3, 1), (2, 1), "abcdef",
        (("symmetric_loss", plus(-1e-4), {0}), ("slopes", plus(1e-9), {1})),
        "duration|predicted",
    ),
    "fig8": Expected(
        (2, 3, 0), (), "abc", (("outputs", first(1.05), {0}), ("outputs", first(1.05, at=1), {0})),
        "outputs|loss|learned",
    ),
    "appC4": Expected(
        (4, 0, 0), (), "abc",
        (
            ("twin_error", plus(1e-3), {0}),
            ("reduced_error", plus(1e-3), {1}),
            ("path_gap", plus(1e-3), {2}),
            ("end_gap", plus(1e-3), {3}),
        ),
    ),
    "appC5": Expected(
        (2, 0, 1), (), "abcd",
        (
            ("largest_error", plus(1e-6), {0}),
            ("even_part", plus(1e-6), {1}),
            ("first_distance", plus(1e-6), {1}),
        ),
        legend="98 %",
    ),
    "appC6": Expected(
        (2, 0, 1), (), "abcd",
        (
            ("matched", plus(1e-8), {0}),
            ("plateau_error", plus(0.05), {1}),
            ("plateau_law", plus(0.05), {1}),
        ),
        gaps="relu_loss|linear_loss",
        legend="98 %",
    ),
    "bias": Expected(
        (3, 2, 2), (), "abcde",
        (
            ("angle", times(1 + 1e-9), {0}),
            ("closed_angle", times(1 + 1e-9), {0}),
            ("margins", times(3), {1}),
            ("largest", times(0.3), {1}),
            ("distance", times(30), {2}),
            ("furthest", times(1e-3), {2}),
        ),
    ),
    "early": Expected(
        (2, 2, 1), (), "abc",
        (
            ("norm", times(1e6), {0}),
            ("gap", lambda gap, run: gap + run["size"].values, {1}),  # as large as the weights
        ),
    ),
    "limit": Expected(
        (3, 1, 1), (), "abcd",
        (
            ("maps", times(1.02, 0.01), {0, 1}),
            ("reduced", times(1.02, 0.01), {0}),
            ("target", times(1.02, 0.01), {1}),
            ("long_margin_share", times(1.02, 0.01), {2}),
        ),
    ),
    "conjecture": Expected(
        (2, 3, 2), (), "abcd",
        (("stay_distance", plus(0.5), {0}), ("stay_moved", plus(-1.0), {0}), ("drift", plus(0.1), {1})),
        # odd targets begin with the larger scale only
        "reached|distance|kept|escape|waited|drift|error",
    ),
    "augment": Expected(
        (2, 7, 0), (4,), "abcdef",
        (("losses", plus(-0.2), {0}), ("accuracy", plus(0.5), {1})),
        "angle",
    ),
    "realdata": Expected((1, 0, 1), (), "abcdef", (("weight_error", plus(1e-8), {0}),)),
    "frei2022": Expected(
        (1, 4, 2), (7,), "abc",
        (("high", times(0.1), {0}), ("low", times(10), {0})),
        "ranks",  # fewer steps are small ones
    ),
    "kou2023": Expected(
        (2, 4, 1), (6,), "abcd", (("unpredicted", plus(0.01), {0}), ("z", times(1.01), {1})),
    ),
    "boursier2022": Expected(
        (2, 5, 2), (2,), "abcd",
        (("pair_least", plus(0.01), {0}), ("least", plus(3.0), {0}), ("gained", plus(1), {1})),
    ),
    "lyu2021": Expected(
        (1, 3, 1), (2,), "abc", (("top", plus(0.3), {0}), ("extra_share", plus(1.0), {0})), "ts|angle",
    ),
    "sarussi2021": Expected(
        (1, 1, 3), (6,), "abc", (("flow_gap", plus(1e-4), {0}),),
    ),
    "town2026": Expected(
        (2, 2, 0), (4,), "abcd",
        (
            ("covered", at_most_zero_less(25), {0}),
            ("probability", at_most_zero_less(0.45), {0}),
            ("below", plus(-1e-9), {1}),
        ),
        "directions|misfit",
    ),
    "lai2026": Expected(
        (2, 1, 2), (2,), "abcd",
        (("defect", times(1e9, 1e-12), {0}), ("control", times(1.05, 1e-12), {1})),
    ),
    "nacson2023": Expected(
        (3, 1, 0), (4,), "abc",
        (
            ("sharpness_ratio", times(30), {0}),
            ("norm", times(1000), {1}),
            ("least_gain", times(1000), {1}),
            ("rung", times(1000), {2}),
            ("settled", lambda settled, _: settled & False, {0, 1, 2}),
        ),
        "sharpness|norm|kink|distance|kick_.*|top|reach|function|sharpness_ratio|stability_bound|"
        "largest_stable|norm_share",
    ),
    "basri2019": Expected(
        (1, 2, 1), (3,), "abc",
        (("lowest", plus(-1e-9), {0}),),
        "halving|wide_halving|.*exponent.*",
    ),
}  # fmt: skip
