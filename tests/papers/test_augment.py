"""The augmentation experiment in small: few neurons and steps."""

import numpy as np
import pytest

from biasfree_papers.augment import compute


def test_numbers(numbers):
    sizes = {"task": 3, "images": 2, "loss": 2, "leak": 2, "seed": 2, "time": 31}
    assert numbers.losses.sizes == sizes
    assert (np.isfinite(numbers.angle) == (numbers.task == "separable")).all()


def test_best_linear_maps_of_three_points(numbers):
    """Two samples of margin w and one of −w: 4/9 (square), and the entropy of (2/3, 1/3) at w = ln 2."""
    three = numbers.best.sel(task="three")
    assert three.sel(loss="square").item() == pytest.approx(4 / 9, rel=1e-14)
    assert three.sel(loss="logistic").item() == pytest.approx(np.log(3) - 2 / 3 * np.log(2), rel=1e-14)
    assert numbers.best.sel(task="separable", loss="logistic") == 0


def test_runs_are_in_the_order_of_their_leaks_and_seeds(numbers):
    """The weights stored for a leak and a seed have the loss stored for them."""
    one = numbers.sel(task="three", images="plain", loss="square", leak=0.5, seed=1)
    hidden = numbers.x.sel(task="three").values @ one.W1.values.T
    output = np.maximum(hidden, 0.5 * hidden) @ one.W2.values[0]
    expected = np.mean((one.y.values - output) ** 2) / 2
    assert one.losses[-1].item() == pytest.approx(expected, rel=1e-12)


def test_the_tasks_stay_consistent_when_mirrored():
    """No input meets its own mirror image, which would have the opposite label."""
    for data in (compute.three_points(), compute.tilted_xor(), compute.separable(20, 0)):
        directions = data.x / np.linalg.norm(data.x, axis=1)[:, None]
        same = data.y[:, None] == data.y
        assert ((directions @ directions.T)[same] > -1 + 1e-9).all()
