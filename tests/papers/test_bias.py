"""The bias experiment in small: few neurons and steps; the data are those of the experiment."""

import numpy as np
import pytest
import xarray

import biasfree as bf
from biasfree_papers.bias.compute import POSITIVES, closed_form
from biasfree_papers.bias.six_points import largest_distance


def test_numbers(numbers):
    assert numbers.margin == pytest.approx(np.linalg.norm(POSITIVES[0]), rel=1e-12)


def test_on_symmetric_data_the_three_classifiers_are_one(numbers):
    """To rounding: machine epsilon times 8 samples, 3 inputs and the condition number; |w| < 1."""
    line = numbers.line.sel(data="symmetric")
    rounding = np.finfo(float).eps * 8 * 3 * numbers.condition.sel(shift=0).max()
    assert abs(line - line.sel(classifier="origin")).max() < rounding


def test_samples_of_a_class_are_at_acute_angles():
    """The bounds on margins need it: then no part of Σp_i x_i is longer than the whole."""
    assert (POSITIVES @ POSITIVES.T > 0).all()


@pytest.mark.parametrize("kind", ["origin", "stacked", "free"])
def test_classifiers_fit_and_are_shortest_among_their_kind(numbers, kind):
    """y(w·x + b) ≥ 1 everywhere, with equality somewhere; more freedom makes w, or (w, b), no longer."""
    lines = numbers.line.sel(data="shifted")
    line, free, stacked = (lines.sel(classifier=one).values for one in (kind, "free", "stacked"))
    outputs = numbers.x.sel(data="shifted").values @ line[:2] + line[2]
    assert (numbers.y * outputs).min() == pytest.approx(1, rel=1e-10)
    assert np.linalg.norm(line[:2]) >= np.linalg.norm(free[:2]) * (1 - 1e-10)
    if kind != "stacked":
        assert np.linalg.norm(line) >= np.linalg.norm(stacked) * (1 - 1e-10)


def test_the_closed_form_has_both_limits():
    """κ → ∞ frees the offset, so that w keeps its direction c; κ → 0 is continuous."""
    c, s = np.array([1.0, 1.2]), np.array([0.3, 1.4])
    np.testing.assert_allclose(closed_form(c, s, 1e6)[0], closed_form(c, s, np.inf)[0], rtol=1e-10)
    np.testing.assert_allclose(closed_form(c, s, 1e-6)[0], closed_form(c, s, 0.0)[0], rtol=1e-10)


def test_the_condition_of_a_support_by_hand():
    """c ⊥ s: products of [c ± s, ±κ] are |c|² ± (|s|² + κ²), with the eigenvalues 2|c|² and 2(|s|² + κ²)."""
    c, s = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    assert closed_form(c, s, 1.0)[1] == pytest.approx(2)
    assert closed_form(c, 0 * s, 0.0)[1] == 1  # one sample


def test_the_largest_distances_by_hand():
    """A right angle of unit vectors is halved at sin 45°; a short sample is no further than its length."""
    right, long, opposite = (
        bf.Dataset(np.array(x, float), np.array([1.0, -1.0]))
        for x in (np.eye(2), [[1, 0], [-3, 0.1]], [[1, 0], [-1, 0]])
    )
    assert largest_distance(right, biased=False) == pytest.approx(np.sqrt(0.5))
    assert largest_distance(right, biased=True) == pytest.approx(np.sqrt(0.5))
    assert largest_distance(long, biased=False) == largest_distance(opposite, biased=False) == 1


def test_seeds_that_have_not_learned_are_not_judged(experiment, numbers):
    def ends_close(*losses):
        of_plain = xarray.DataArray(list(losses), dims="seed", coords={"seed": numbers.seed})
        given = numbers.assign(six_loss=of_plain.expand_dims(kind=numbers.kind))
        return next(one for one in experiment.claims(given) if "ends close" in one.sentence)

    assert len(ends_close(1e-6, 1.0).measured) == 1
    assert ends_close(1e-6, 1.0).note.startswith("1 of 2 seeds have not learned")
    assert not ends_close(1.0, 1.0).holds
