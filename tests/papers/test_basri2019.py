"""Frequencies on the circle, in small."""

import numpy as np
import pytest

from biasfree_papers.basri2019.compute import paired
from biasfree_papers.experiment import silent


@pytest.mark.slow
def test_three_layers_learn_what_two_cannot(experiment):
    changes = {"deep_width": 32, "deep_step": 0.02, "deep_steps": 1500}
    found = experiment.compute(experiment.settle({**experiment.small, **changes}), silent)
    three = found.sel(kind="three layers")
    assert (three["last"].sel(frequency=3) < 0.05).all()
    assert all(claim.holds for claim in experiment.claims(found) if claim.kind == "ours")
    assert experiment.draw(found).axes


def test_numbers(numbers):
    assert numbers["last"].sizes == {"kind": 3, "frequency": 4, "seed": 2}
    np.testing.assert_allclose(numbers.floor, [0, 0, 0.25, 0], atol=1e-15)
    two = numbers.sel(kind="two layers")
    np.testing.assert_allclose(two["last"].sel(frequency=3), 0.25, rtol=1e-12)  # f = 0 does not move
    assert (two.halving.sel(frequency=3) == np.inf).all()
    assert np.isinf(two.wide_halving.sel(frequency=3))
    assert (two["last"].sel(frequency=1) < 0.01).all()


def test_paired_weights_of_three_layers():
    """Outputs cancel, and every layer has the norm asked for."""
    start = paired((2, 300, 200, 1), scale=4.0, seed=1)
    assert start.sizes == (2, 300, 200, 1)
    np.testing.assert_allclose(start(np.random.default_rng(0).normal(size=(5, 2))), 0, atol=1e-12)
    np.testing.assert_allclose([np.linalg.norm(w) for w in start.weights], 4.0, rtol=0.2)  # 1/√100


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"points": 15}, "must be even"), ({"frequencies": (2, 3, 4, 5)}, "begin with 1, 2, 3, 4")],
)
def test_refusals(experiment, changes, message):
    with pytest.raises(ValueError, match=message):
        experiment.settle(changes)


def test_too_few_points_are_refused(experiment):
    with pytest.raises(ValueError, match="more than twice"):
        experiment.compute(experiment.settle({"points": 16}), silent)
