"""The augmentation experiment in small: few neurons and steps."""

import numpy as np
import pytest

from biasfree_papers.augment import numbers as runs


def test_numbers(numbers):
    assert numbers["three_mirrored_square_loss"].shape == (4, 31)  # two leaks of two draws
    assert len(numbers["xor_mirrored_y"]) == 2 * len(numbers["xor_plain_y"]) == 8


def test_best_linear_maps_of_three_points(numbers):
    """Two samples of margin w and one of −w: 4/9 (square), and the entropy of (2/3, 1/3) at w = ln 2."""
    assert numbers["three_square_best"] == pytest.approx(4 / 9, rel=1e-14)
    assert numbers["three_logistic_best"] == pytest.approx(np.log(3) - 2 / 3 * np.log(2), rel=1e-14)
    assert numbers["separable_logistic_best"] == 0


def test_the_tasks_stay_consistent_when_mirrored():
    """No input meets its own mirror image, which would have the opposite label."""
    for data in (runs._three_points(), runs._tilted_xor(), runs._separable(20, 0)):
        directions = data.x / np.linalg.norm(data.x, axis=1)[:, None]
        same = data.y[:, None] == data.y
        assert ((directions @ directions.T)[same] > -1 + 1e-9).all()
