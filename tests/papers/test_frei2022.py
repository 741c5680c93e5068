"""Frei et al. in small: the same runs, claims and picture, with few neurons, samples and steps."""

import numpy as np
import pytest

import biasfree as bf
from biasfree_papers.experiment import silent
from biasfree_papers.frei2022 import EXPERIMENT
from biasfree_papers.frei2022.boundary import Boundary, angle
from biasfree_papers.frei2022.condition import expected, reached

OURS = 7


def test_numbers(numbers):
    assert numbers["ranks"].shape == (2, 2, 2, len(numbers["steps"]), 3)
    assert numbers["large_ranks"].shape == (2, 3, len(numbers["long_steps"]), 3)
    assert numbers["orthogonal_ranks"].shape == (2, 3, len(numbers["long_steps"]), 3)
    assert numbers["steps"].tolist() == [0, 1, 2, 3, 4, 6, 8, 12, 16]
    leaks = numbers["cases"][:, 1]
    np.testing.assert_allclose(numbers["orthogonal_limit"][0], 2 * (1 + leaks**2) / (1 + leaks) ** 2)


def test_tables(numbers):
    ranks, limits, orthogonal = EXPERIMENT.tables(numbers)
    assert len(ranks.rows) == 7
    assert [row[0] for row in limits.rows] == [20, 60]
    assert [row[1] for row in orthogonal.rows] == [0.2, 1, 0.1]


def test_only_networks_with_their_own_gates_are_limits(numbers):
    """The others decide nothing, and are counted."""
    known = np.array([[True, False], [True, True]])
    shares = np.where(known, 1.0, 0.5)
    changed = {**numbers, "limit_consistent": known, "limit_on_margin": shares}
    claim = EXPERIMENT.claims(changed)[OURS + 6]
    assert claim.measured == (1, 1, 1)
    assert "3 of 4 draws" in claim.sentence
    assert "1 are undecided" in claim.sentence
    assert "20 dimensions" in claim.note
    none = {**changed, "limit_consistent": ~known & known}
    assert not EXPERIMENT.claims(none)[OURS + 6].holds


def test_too_few_dimensions_are_refused():
    with pytest.raises(ValueError, match="dimensions must be at least samples"):
        EXPERIMENT.run(EXPERIMENT.settle({**EXPERIMENT.small, "dimensions": (5,)}), silent)


def started(d, *, seed, leak=0.2):
    data = bf.data.gaussian_mixture(8, d, 2.0, seed=seed + 100)
    network = bf.networks.xavier((d, 6, 1), leak=leak, seed=seed, signs=True)
    return bf.networks.in_span(network, data)


def test_held_out_samples_are_seen_by_all_of_the_network():
    """In the span and off it together: the output of the restored network."""
    start, fresh = started(30, seed=1), bf.data.gaussian_mixture(40, 30, 2.0, seed=9)
    boundary = Boundary.of(start, fresh, seed=0)
    f = start.restored(start.network)(fresh.x)
    assert boundary.measured(start.network, 1.0)["accuracy"] == np.mean(np.sign(f) == fresh.y)


def test_angle():
    np.testing.assert_allclose(angle(np.array([1.0, 0]), np.array([1.0, 1])), 45)
    assert angle(np.array([2.0, 1]), np.array([4.0, 2])) == 0


def test_the_dimension_at_which_inputs_are_nearly_orthogonal():
    d = reached(1.0, 100)
    assert 1e5 < d < 3e5
    np.testing.assert_allclose(expected(np.array(d), 100), 1, rtol=0.01)
