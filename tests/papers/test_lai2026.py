"""High-dimensional samples, in small."""

import numpy as np
import pytest

from biasfree_papers.lai2026.compute import MEASURES, exponents

OURS = 2


def test_numbers(numbers):
    assert numbers.relu_linear.sizes == {"target": 2, "samples": 1, "ratio": 2, "seed": 2}
    assert numbers.distance.sizes == {**numbers.relu_linear.sizes, "measure": 3}
    networks = numbers.distance.sel(measure="networks to X⁺y")
    assert (networks.sel(ratio=20) < networks.sel(ratio=2)).all()  # nearer to orthogonal
    assert (numbers.defect > 0).all()
    np.testing.assert_allclose(numbers.control.sel(active="all samples"), numbers.kick, atol=2e-6)


def test_the_law_is_reported_with_its_error(experiment, numbers):
    """Seeds of exponents 0.48 and 0.52, 0.50 ± 0.02, agree with the law; their squares do not."""
    power = numbers.seed * 0.04 + 0.48
    squares = (numbers.measure != MEASURES[0]) + 1
    made = (numbers.ratio ** (-power * squares)).broadcast_like(numbers.distance)
    made = made.transpose(*numbers.distance.dims)
    kept = numbers.drop_vars(["exponent", "exponent_error"]).assign(distance=made)
    order, law = experiment.claims(exponents(kept))[OURS : OURS + 2]
    assert (order.kind, order.held) == ("paper", (True, False, True, False))
    assert (law.kind, law.held) == ("observed", (True, True, False, False, False, False))
    assert "two neurons to X⁺y: labels 0.50 ± 0.02" in law.sentence


def test_large_initial_weights_are_refused(experiment):
    with pytest.raises(ValueError, match=r"at most 0\.05"):
        experiment.settle({"scale": 0.1})
