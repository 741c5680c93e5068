"""Frequencies on the circle, in small."""

import numpy as np
import pytest

from biasfree_papers.basri2019 import EXPERIMENT
from biasfree_papers.basri2019 import numbers as runs
from biasfree_papers.experiment import silent


@pytest.mark.slow
def test_three_layers_learn_what_two_cannot():
    changes = {"deep_width": 32, "deep_step": 0.02, "deep_steps": 1500}
    found = EXPERIMENT.run(EXPERIMENT.settle({**EXPERIMENT.small, **changes}), silent)
    assert (found["three_loss"][2, :, -1] < 0.05).all()
    assert (np.diff(found["three_ts"]) > 0).all()  # both parts of a run, one after the other
    assert all(claim.holds for claim in EXPERIMENT.claims(found) if claim.kind == "ours")


def test_numbers(numbers):
    assert all(numbers[f"{kind}_loss"].shape[:2] == (4, 2) for kind in runs.KINDS)
    np.testing.assert_allclose(numbers["floor"], [0, 0, 0.25, 0], atol=1e-15)
    np.testing.assert_allclose(numbers["two_loss"][2], 0.25, rtol=1e-12)
    assert (numbers["two_times"][2] == np.inf).all()
    assert np.isinf(numbers["two_kernel"][2])
    assert (numbers["two_loss"][0, :, -1] < 0.01).all()


def test_paired_starts_of_three_layers():
    """Outputs cancel, and every layer has the norm asked for."""
    start = runs.start_of((2, 300, 200, 1), scale=4.0, seed=1)
    assert start.sizes == (2, 300, 200, 1)
    np.testing.assert_allclose(start(np.random.default_rng(0).normal(size=(5, 2))), 0, atol=1e-12)
    np.testing.assert_allclose([np.linalg.norm(w) for w in start.weights], 4.0, rtol=0.2)  # 1/√100


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"points": 15}, "must be even"), ({"frequencies": (2, 3, 4, 5)}, "begin with 1, 2, 3, 4")],
)
def test_refusals(changes, message):
    with pytest.raises(ValueError, match=message):
        EXPERIMENT.settle(changes)


def test_too_few_points_are_refused():
    with pytest.raises(ValueError, match="more than twice"):
        EXPERIMENT.run(EXPERIMENT.settle({"points": 16}), silent)
