"""The bias experiment in small: few neurons and steps; the data are those of the experiment."""

import numpy as np
import pytest

from biasfree_papers.bias import EXPERIMENT, square
from biasfree_papers.bias import numbers as runs


def test_numbers(numbers):
    assert numbers["margin"] == pytest.approx(np.linalg.norm(runs.POSITIVES[0]), rel=1e-12)
    assert (numbers["bias_step"] > 0).all()
    assert (numbers["biased_ratios"][:, -1] > 0).all()
    assert not numbers["plain_ratios"].any()


@pytest.mark.parametrize("kind", ["origin", "stacked", "free"])
def test_classifiers_fit_and_are_shortest_among_their_kind(numbers, kind):
    """y(w·x + b) ≥ 1 everywhere, with equality somewhere; more freedom makes w, or (w, b), no longer."""
    w, b = numbers[f"shifted_{kind}"][:2], numbers[f"shifted_{kind}"][2]
    assert (numbers["y"] * (numbers["shifted_x"] @ w + b)).min() == pytest.approx(1, rel=1e-10)
    assert np.linalg.norm(w) >= np.linalg.norm(numbers["shifted_free"][:2]) * (1 - 1e-10)
    if kind != "stacked":
        assert np.hypot(np.linalg.norm(w), b) >= np.linalg.norm(numbers["shifted_stacked"]) * (1 - 1e-10)


def test_the_closed_form_has_both_limits():
    """κ → ∞ frees the offset, so that w keeps its direction c; κ → 0 is continuous."""
    c, s = np.array([1.0, 1.2]), np.array([0.3, 1.4])
    np.testing.assert_allclose(runs.closed_form(c, s, 1e6), c / (c @ c), rtol=1e-10)
    np.testing.assert_allclose(runs.closed_form(c, s, 1e-6), runs.closed_form(c, s, 0.0), rtol=1e-10)


def test_the_largest_distances_by_hand():
    """A right angle of unit vectors is halved at sin 45°; a short sample is no further than its length."""
    y = np.array([1.0, -1.0])
    assert square.largest_distance(np.eye(2), y, biased=False) == pytest.approx(np.sqrt(0.5))
    assert square.largest_distance(np.eye(2), y, biased=True) == pytest.approx(np.sqrt(0.5))
    assert square.largest_distance(np.array([[1.0, 0], [-3, 0.1]]), y, biased=False) == 1
    assert square.largest_distance(np.array([[1.0, 0], [-1, 0]]), y, biased=False) == 1


def test_the_rest_of_the_line_has_no_force_on_a_bias(numbers):
    """Orthogonal to 1 and to x on either half-line; least squares of all is y = x."""
    for side in (square.LINE > 0, square.LINE < 0):
        both = np.column_stack([np.ones(3), square.LINE[side]])
        np.testing.assert_allclose(square.REST[side] @ both, 0, atol=1e-16)
    assert numbers["line_loss"] == pytest.approx(np.mean(square.REST**2) / 2)
    assert (numbers["line_usual_kinks"] < 1).all()


def test_draws_that_have_not_learned_are_not_judged(numbers):
    half = {**numbers, "six_plain_loss": np.array([1e-6, 1.0])}
    (claim,) = [one for one in EXPERIMENT.claims(half) if "ends close" in one.sentence]
    assert len(claim.measured) == 1
    assert claim.note.startswith("1 of 2 draws have not learned")
    none = EXPERIMENT.claims({**numbers, "six_plain_loss": np.ones(2)})
    assert not next(one for one in none if "ends close" in one.sentence).holds


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"shift": 2.0}, r"at most 1\.5"),
        ({"width": 11}, "width must be even, since neurons come in opposite"),
    ],
)
def test_refusals(changes, message):
    with pytest.raises(ValueError, match=message):
        EXPERIMENT.settle(changes)
