"""Expected results of each figure's small run: counts of claims, tables and panels, and claims that fail.

A claim that no wrong number could refute says nothing, so for each claim of ours there is an array that, made
wrong, makes it fail.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from biasfree_papers.types import Numbers

Change = Callable[[np.ndarray, Numbers], np.ndarray]


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
    if isinstance(numbers, dict):
        return {**numbers, name: value}
    return numbers.assign({name: (numbers[name].dims, np.asarray(value))})


def plus(amount: float | np.ndarray) -> Change:
    """Every value off by an amount."""
    return lambda values, _: values + amount


def times(factor: float, more: float = 0.0) -> Change:
    """Every value off by a factor, and by a little more."""
    return lambda values, _: factor * values + more


def first(factor: float, at: int | tuple[int, ...] = 0) -> Change:
    """The first entry off by a factor, or another one; all of a single number."""

    def change(values: np.ndarray, _: Numbers) -> np.ndarray:
        changed = values.copy()
        changed[at if values.ndim else ...] *= factor
        return changed

    return change


def at_most_zero_less(amount: float) -> Change:
    """Every value less by an amount, but not below zero."""
    return lambda values, _: np.clip(values - amount, 0, None)


EXPECTED = {
    "fig1": Expected(
        (5, 2, 6), (8, 2), "abcd",
        (
            ("six_two_loss", plus(-0.1), {0}),
            ("g_two_loss", plus(-0.1), {1}),
            ("g_two_split", plus(1e-9), {2}),
            ("exact_loss", plus(1e-9), {3}),
            ("six_three_inhomogeneity", plus(1e-9), {4}),
        ),
    ),
    "fig3": Expected(
        (8, 4, 0), (3,), "abcdef",
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
            ("median_error", first(20), {5}),
            ("real_error", first(1e9, at=-1), {6}),  # it begins at zero
            ("descent_loss", first(1.05), {7}),
        ),
        "loss|weight_error|accuracy|pair_error|kept",  # leaks without logistic loss
    ),
    "fig4": Expected(
        (2, 3, 1), (4,), "abc",
        (
            ("outputs", first(1.1), {0}),
            ("outputs", first(1.1, at=1), {0}),
            ("weight_gap", times(1.1, 1e-2), {1}),
        ),
        "outputs|loss|learned",  # descent has one seed
    ),
    "fig5": Expected(
        (7, 6, 4), (1,), "abcdefghijklmn",
        (
            ("exact_gap", times(0, 1e-2), {0}),
            ("exact_half_speed", times(0, 1e-2), {1}),
            ("exact_outside", times(0, 1e-2), {2}),
            ("exact_least", times(0, -1e-12), {3}),
            ("exact_third", times(0, 1e-6), {4}),
            ("slope_corrected", times(0, 1e-6), {5}),
            ("slope_printed", times(0, 0.99), {6}),
        ),
    ),
    "fig6": Expected(
        (2, 3, 2), (2, 1), "abcdef",
        (("symmetric_loss", plus(-1e-4), {0}), ("slopes", plus(1e-9), {1})),
        "duration|predicted",
    ),
    "fig8": Expected(
        (2, 3, 1), (4,), "abc", (("outputs", first(1.05), {0}), ("outputs", first(1.05, at=1), {0})),
        "outputs|loss|learned",
    ),
    "appC4": Expected(
        (4, 0, 0), (3,), "abcd",
        (
            ("twin_error", plus(1e-3), {0}),
            ("reduced_error", plus(1e-3), {1}),
            ("path_gap", plus(1e-3), {2}),
            ("end_gap", plus(1e-3), {3}),
        ),
    ),
    "appC5": Expected(
        (2, 0, 1), (3,), "abcd",
        (
            ("largest_error", plus(1e-6), {0}),
            ("even_part", plus(1e-6), {1}),
            ("first_distance", plus(1e-6), {1}),
        ),
        legend="98 %",
    ),
    "appC6": Expected(
        (2, 0, 1), (2,), "abcd",
        (
            ("matched", plus(1e-8), {0}),
            ("plateau_error", plus(0.05), {1}),
            ("plateau_law", plus(0.05), {1}),
        ),
        gaps="relu_loss|linear_loss",
        legend="98 %",
    ),
    "bias": Expected(
        (7, 5, 2), (6, 2, 4, 2), "abcdefghi",
        (
            ("symmetric_stacked", times(1 + 1e-6), {0}),
            ("sweep", times(1.01), {1}),
            ("bias_step", times(1 + 1e-6), {2}),
            ("least_product", times(-1), {3}),
            ("plain_margins", times(3), {4}),
            ("biased_margins", times(3), {5}),
            ("six_x", times(1e-3), {6}),
        ),
        ".*_steps",
    ),
    "early": Expected(
        (4, 2, 1), (2,), "abcd",
        (
            ("norm", times(1e6), {0, 1}),
            ("gap", lambda gap, run: gap + run["size"], {2}),  # as large as the weights
            ("half", times(0.5), {3}),
        ),
    ),
    "limit": Expected(
        (7, 1, 2), (2,), "abcd",
        (
            ("square_maps", times(1.02, 0.01), {0, 1, 2}),
            ("square_reduced", times(1.02, 0.01), {0}),
            ("square_target", times(1.02, 0.01), {1}),
            ("square_norms", times(1.02, 0.01), {2}),
            ("square_twin_error", times(1.02, 0.01), {3}),
            ("logistic_twin_error", times(1.02, 0.01), {4}),
            ("logistic_maps", times(1.02, 0.01), {5}),
            ("logistic_reduced", times(1.02, 0.01), {5}),
            ("margin_share_2", times(1.02, 0.01), {6}),
        ),
        "offset.*",
    ),
    "conjecture": Expected(
        (2, 3, 2), (30, 5), "abcd",
        (("stay_distance", plus(0.5), {0}), ("stay_moved", plus(-1.0), {0}), ("drift", plus(0.1), {1})),
        "later|escape|waited",
    ),
    "augment": Expected(
        (5, 6, 0), (20,), "abcdefghi",
        (
            ("xor_mirrored_square_loss", plus(-0.2), {0}),
            ("three_mirrored_logistic_loss", plus(-0.2), {1}),
            ("three_split", plus(1e-9), {2}),
            ("xor_mirrored_logistic_accuracy", plus(0.5), {3}),
            ("max_margin", plus(np.array([[0.0], [1e-6]])), {4}),
        ),
    ),
    "relax": Expected(
        (2, 0, 3), (3,), "abcdef",
        (("weight_error", plus(1e-8), {0}), ("twin_change", plus(1e-8), {1})),
        "diverged",
    ),
    "realdata": Expected((1, 0, 1), (2, 4, 4), "abcdef", (("weight_error", plus(1e-8), {0}),)),
    "frei2022": Expected(
        (7, 8, 4), (7, 2, 3), "abcdefghi",
        (
            ("first_error", plus(0.01), {0}),
            ("first_high", times(0.1), {1}),
            ("large_first_low", times(10), {1}),
            ("orthogonal_first_gradient", times(2), {2}),
            ("orthogonal_first_ceiling", times(0.5), {2}),
            ("orthogonal_first_ceiling", times(2), {2}),
            ("orthogonal_moved", plus(0.01), {3}),
            ("orthogonal_z", times(1.01), {4}),
            ("orthogonal_limit", times(1.5), {5}),
            ("limit_beyond", plus(0.01), {6}),
            ("limit_agree", times(0.99), {6}),
        ),
        "(large_|curve_)?first_ceiling",  # mixtures too far from orthogonal
    ),
    "kou2023": Expected(
        (6, 4, 3), (6,), "abcdefgh",
        (
            ("other_gates", plus(0.01), {0}),
            ("moved", plus(0.01), {1}),
            ("z", times(1.01), {2}),
            ("loss", times(1.01), {3}),
            ("ranks", times(1.1), {4}),
            ("ideal", times(2), {4, 5}),
            ("drawn_rank", times(3), {5}),
        ),
    ),
    "boursier2022": Expected(
        (4, 7, 8), (2, 2, 4), "abcfgh",
        (
            ("pair_drift", plus(0.01), {0}),
            ("pair_spread", plus(0.01), {1}),
            ("many_gained", plus(1), {2}),
            ("pair_least", plus(0.01), {3}),
            ("many_least", plus(3.0), {3}),
        ),
        ".*(predicted|kinks|measured)",
    ),
    "lyu2021": Expected(
        (5, 4, 7), (2, 4), "abcdefghi",
        (
            ("width4_share", plus(0.3), {0}),
            ("extra_margin", plus(0.1), {0}),
            ("width2_embedded", plus(1e-9), {1}),
            ("extra_linear", plus(1e-9), {1}),
            ("width2_embedded_one_signed", plus(1e-9), {2}),
            ("twin_gap", plus(1e-6), {3}),
            ("extra_bound_ratio", plus(1e-3), {4}),
        ),
    ),
    "sarussi2021": Expected(
        (3, 1, 6), (10,), "abcdef",
        (
            ("exact_gap", plus(1e-4), {0}),
            ("descent_gap", plus(1e-8), {1}),
            ("leak_differ", plus(1e-3), {2}),
            ("square_beaten", plus(1e-3), {2}),
        ),
    ),
    "town2026": Expected(
        (4, 2, 7), (4,), "abcdef",
        (
            ("covered", at_most_zero_less(25), {0}),
            ("probability", at_most_zero_less(0.45), {0}),
            ("half_below", plus(-1e-9), {1}),
            ("wide_below", plus(-1e-9), {1}),
            ("half_gained", plus(1), {2}),
            ("wide_least", plus(10.0), {3}),
            ("half_norm", plus(-10.0), {3}),
        ),
    ),
    "lai2026": Expected(
        (4, 2, 6), (4, 6), "abcdef",
        (
            ("two_defect", times(1e9, 1e-12), {0}),
            ("wide_defect", times(1e9, 1e-12), {0}),
            ("two_linear", times(3.0, 1e-12), {1}),
            ("wide_linear", times(0.1, 1e-12), {1}),
            ("wide_high", times(0.1, 1e-12), {1}),
            ("control_own", times(1.05, 1e-12), {2}),
            ("control_every", times(1.05, 1e-12), {3}),
        ),
    ),
    "nacson2023": Expected(
        (6, 2, 6), (3, 15), "abcdef",
        (
            ("sharpness", times(30), {0, 1}),
            ("kernel", times(1.01), {1}),
            ("gain", times(10), {2}),
            ("norm", times(1000), {3}),
            ("norm", times(0.1), {5}),
            ("least_gain", times(1000), {3}),
            ("least_norm", times(10), {5}),
            ("rungs", times(1000), {0, 3, 4}),
            ("kick_largest", lambda largest, _: np.inf * largest, {0, 3, 4}),
        ),
        "sharpness|kernel|norm|gain|kink|balanced|imbalance|distance|kick_.*|top|reach|tangent|points|functions",
    ),
    "basri2019": Expected(
        (6, 4, 3), (4,), "abcdefg",
        (
            ("two_loss", plus(-0.01), {0}),
            ("moving_loss", plus(-0.01), {1}),
            ("moving_split", plus(1e-6), {2}),
            ("two_moved", plus(1e-6), {3}),
            ("exact_loss", plus(1e-12), {4}),
            ("two_rates", plus(1e-6), {5}),
        ),
        ".*_times|two_kernel|exact_loss|exact_bound",
    ),
}  # fmt: skip
