"""Town et al. in small: four and eight samples, few neurons and draws."""

import numpy as np
import pytest

import biasfree as bf
from biasfree_papers.town2026 import EXPERIMENT, sentences_fits, sentences_laws
from biasfree_papers.town2026 import numbers as made
from biasfree_papers.town2026.increments import GROWN, _measured
from biasfree_papers.town2026.starts import samples, start


def test_numbers(numbers):
    assert numbers["half_floor"].shape == numbers["wide_norm"].shape == (2, 3)
    assert numbers["covered"].shape == numbers["probability"].shape == numbers["widths"].shape
    assert numbers["minimum"] == pytest.approx(np.sqrt(2 * numbers["samples"]))
    assert (np.diff(numbers["probability"], axis=1) > 0).all()
    assert all(np.isfinite(numbers[name]).all() for name in ("half_excess", "wide_norm", "one_norm", "half"))
    # descent until well after the last escape: at the floor
    assert max(numbers["half_excess"].max(), numbers["wide_excess"].max()) < 1e-4


def test_tables(numbers):
    (table,) = EXPERIMENT.tables(numbers)
    assert [row[0] for row in table.rows] == [4, 8, 6, 12]
    assert [row[1] is None for row in table.rows] == [False, False, True, True]


def test_one_more_direction_than_escapes_is_seen(numbers):
    """The claim counts escapes after which the number of directions is not their number."""
    due = np.array([[1.0, 2.0], [1.0, np.nan]])
    right = {"one_due": due, "one_came": due, "one_directions": np.array([[1.0, 2], [1, np.nan]])}
    few = {**numbers, "seeds": np.arange(2), "one_norm": np.ones(2), "one_limit": np.ones(2)}
    few |= {"step_change": np.zeros(2)}
    assert EXPERIMENT.claims({**few, **right})[4].measured == (0, 0)
    right["one_directions"] = np.array([[1.0, 3], [1, np.nan]])
    assert EXPERIMENT.claims({**few, **right})[4].measured == (1, 0)


def test_laws_are_recovered():
    n = np.array([8, 32, 128])
    half = 3 * np.log(n) + 2
    boots = half[:, None] + np.log(n)[:, None] * np.array([[-0.1, 0.1, np.nan]])
    slope, error = sentences_fits.slopes({"samples": n, "half": half, "half_boots": boots})
    assert (slope, error) == pytest.approx((3, 0.1))
    norms = 2 * np.outer(np.sqrt(n), [1, 3])
    assert sentences_fits.exponents(n, norms) == pytest.approx([0.5, 0.5])
    assert sentences_fits.local_exponents(n, norms) == pytest.approx(np.full((2, 2), 0.5))


def test_misfit_is_chi_square():
    """Errors of 0.1, the middle width of three 0.2 off a line: χ² = (2²/6)(0.2/0.1)²."""
    n, boots = np.array([2, 4, 8]), np.array([[-0.1, 0.1]] * 3)
    half = np.array([1.0, 2.2, 3.0])
    assert sentences_fits.misfit(
        {"samples": n, "half": half, "half_boots": half[:, None] + boots}
    ) == pytest.approx(8 / 3)


def test_log_law_is_judged_by_three_or_more(numbers):
    """Two widths lie on a line; of three, one far off the line fails."""
    assert not any("log n" in claim.sentence for claim in EXPERIMENT.claims(numbers))
    boots = np.array([[-0.1, 0.1]] * 3)
    for off, holds in ((0.0, True), (1.0, False)):
        half = np.array([1.0, 2.0 + off, 3.0])
        three = {"samples": np.array([2, 4, 8]), "half": half, "exact_half": half}
        three |= {"half_boots": half[:, None] + boots, "seeds": numbers["seeds"]}
        assert sentences_laws._threshold({**numbers, **three}).holds == holds


def test_norms_below_the_limit_are_told(numbers):
    """Both exponents stand in the sentence, and how far the runs are below the limit in the note."""
    limit = sentences_fits.trained_limit(numbers)
    (claim,) = (
        c for c in EXPERIMENT.claims({**numbers, "wide_norm": 0.8 * limit}) if "not yet √n" in c.sentence
    )
    assert (len(claim.measured), claim.kind) == (2, "observed")
    assert claim.measured[0] == pytest.approx(claim.measured[1])
    assert "20, 20 % below the limit" in claim.note


def test_the_order_of_the_norm_is_the_papers_and_its_exponent_is_not(numbers):
    """Norms of n^0.7 are of the order of √n at these n; norms of n are not, up to a constant of 1 + √2."""
    n, limits = numbers["samples"][:, None], numbers["limit_samples"][:, None]
    for power, holds in ((0.5, True), (0.7, True), (1.2, False)):
        of_power = {
            "wide_norm": np.sqrt(2) * n**power + 0 * numbers["wide_norm"],
            "limit_norm": np.sqrt(2) * limits**power + 0 * numbers["limit_norm"],
        }
        order = sentences_laws._order({**numbers, "minimum": np.sqrt(2 * n[:, 0]), **of_power})
        assert (order.kind, order.holds) == ("paper", holds)


def test_limit_of_the_trained_is_that_of_their_starts(numbers):
    starts = [start(8, EXPERIMENT.small["width"], scale=EXPERIMENT.small["scale"], seed=s) for s in range(3)]
    shares = [
        bf.theory.neighbors.escape_sequence(one, samples(8), apart_tolerance=np.inf).shares.sum()
        for one in starts
    ]
    assert sentences_fits.trained_limit(numbers)[1] == pytest.approx(shares)
    assert numbers["limit_samples"].tolist() == [4, 6, 8, 12]


def test_weights_past_the_outer_ones_are_seen(numbers):
    """|w_h|/|a_h| above what steady growth by the step explains, 1.063 for 0.2."""

    def told(values):
        return [c.holds for c in EXPERIMENT.claims({**numbers, "wide_ratio": values}) if "steady" in c.source]

    assert told(numbers["wide_ratio"]) == [True]
    assert told(np.full_like(numbers["wide_ratio"], 1.07)) == [False]


def test_width_of_one_half():
    """Between 8 and 9 neurons for 8 samples; shares that never come to ½ have none."""
    low, high = (bf.theory.neighbors.interpolation_probability(4, 4, m) for m in (8, 9))
    assert made._exact_half(8) == pytest.approx(8 + (0.5 - low) / (high - low))
    assert made._crossing(np.array([2, 4, 6]), np.array([0.1, 0.4, 0.8])) == pytest.approx(4.5)
    assert np.isnan(made._crossing(np.array([2, 4]), np.array([0.1, 0.4])))
    assert np.isnan(made._crossing(np.array([2, 4]), np.array([0.6, 0.9])))


def test_starts_dominate_and_fill_up_with_zeros():
    network = start(5, 3, scale=0.1, seed=2, room=7)
    inner, outer = np.linalg.norm(network.weights[0], axis=1), np.abs(network.weights[1][0])
    np.testing.assert_allclose(outer, np.sqrt(2) * inner)
    assert (inner[3:] == 0).all()
    assert (samples(5).x == np.eye(5)).all()


def test_directions_are_counted_by_sign():
    """Two neurons of one direction and sign are one, of either sign two; small ones do not count."""
    first = np.array([[1.0, 0], [2, 0], [1, 0], [0, np.sqrt(GROWN) / 2]])
    network = bf.Network((first, np.array([[1.0, 1, -1, np.sqrt(GROWN)]])))
    assert _measured(network)[1] == 2
