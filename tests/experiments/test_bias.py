"""The bias experiment in small: few neurons and steps; the data are those of the experiment."""

import numpy as np
import pytest

from biasfree.experiments import bias
from biasfree.experiments.bias import numbers as runs
from biasfree.experiments.experiment import silent
from biasfree.files import load_npz, save_npz

SMALL = {"width": 10, "scale": 0.1, "epochs": 500, "times": 50, "seeds": 2}
OURS = 6


@pytest.fixture(scope="module")
def numbers():
    return bias.EXPERIMENT.run(bias.EXPERIMENT.settle(SMALL), silent)


def test_numbers(numbers):
    assert all(isinstance(value, np.ndarray) and np.isfinite(value).all() for value in numbers.values())
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


def test_our_claims_hold_and_the_papers_decide_nothing(numbers):
    claims = bias.EXPERIMENT.claims(numbers)
    assert [claim.kind for claim in claims] == ["ours"] * OURS + ["paper", "observed", "paper"]
    assert all(claim.holds for claim in claims[:OURS])


@pytest.mark.parametrize(
    ("spoilt", "factor", "falls"),
    [
        ("symmetric_stacked", 1 + 1e-6, 0),
        ("sweep", 1.01, 1),
        ("bias_step", 1 + 1e-6, 2),
        ("least_product", -1.0, 3),
        ("plain_margins", 3.0, 4),
        ("biased_margins", 3.0, 5),
    ],
)
def test_claims_fail_where_the_numbers_are_wrong(numbers, spoilt, factor, falls):
    ours = bias.EXPERIMENT.claims({**numbers, spoilt: numbers[spoilt] * factor})[:OURS]
    assert [claim.holds for claim in ours] == [i != falls for i in range(OURS)]


def test_tables(numbers):
    linear, trained = bias.EXPERIMENT.tables(numbers)
    assert [len(linear.rows), len(trained.rows)] == [6, 2]


def test_picture(numbers, tmp_path):
    save_npz(tmp_path / "numbers.npz", numbers)
    figure = bias.EXPERIMENT.draw(load_npz(tmp_path / "numbers.npz", needs=()))
    assert [axes.get_title(loc="left") for axes in figure.axes] == [f"({letter})" for letter in "abcdef"]
    assert all(axes.get_xlabel() and axes.get_ylabel() for axes in figure.axes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"shift": 2.0}, r"at most 1\.5"),
        ({"width": 11}, "width must be even, since neurons come in opposite"),
    ],
)
def test_refusals(changes, message):
    with pytest.raises(ValueError, match=message):
        bias.EXPERIMENT.settle(changes)
