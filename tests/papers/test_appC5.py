"""App. C.5 in small: few samples, neurons and scales."""

import numpy as np


def test_numbers(numbers):
    assert numbers.largest_error.sizes == {"kind": 2, "scale": 3, "leak": 2, "seed": 2}
    assert numbers.relu_loss.sizes == {"kind": 2, "scale": 3, "time": 21}
    last = numbers.linear_loss.sel(kind="random", scale=3).isel(time=-1)
    np.testing.assert_allclose(last, numbers.least_squares, rtol=1e-6)


def test_the_even_part_grows_with_the_square_of_the_scale(numbers):
    """Both layers are proportional to γ, so at t = 0 the distance of the functions is to γ²."""
    distance = numbers.first_distance.sel(kind="random")
    np.testing.assert_allclose(distance.sel(scale=3) / distance.sel(scale=1), 9, rtol=1e-12)


def test_at_the_least_scale_the_error_is_what_the_width_costs(experiment, numbers):
    assert experiment.claims(numbers)[2].measured[0] == 1
