"""App. C.5 in small: few samples, neurons and scales."""

import numpy as np

from biasfree_papers.appC5 import EXPERIMENT


def test_numbers(numbers):
    assert numbers["largest_error"].shape == (2, 3, 2, 2)
    assert numbers["relu_loss"].shape == (2, 3, len(numbers["rescaled"]))
    np.testing.assert_allclose(numbers["linear_loss"][1, 2, -1], numbers["least_squares"], rtol=1e-6)


def test_the_even_part_grows_with_the_square_of_the_scale(numbers):
    """Both layers are proportional to γ, so at t = 0 the distance of the functions is to γ²."""
    distance = numbers["first_distance"][1]
    np.testing.assert_allclose(distance[2] / distance[1], 9, rtol=1e-12)


def test_at_the_least_scale_the_error_is_what_the_width_costs(numbers):
    assert EXPERIMENT.claims(numbers)[2].measured[0] == 1
