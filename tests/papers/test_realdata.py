"""The digits in small: fewer neurons, steps and flips."""


def test_numbers(numbers):
    assert numbers.curve.sizes == {"loss": 2, "kind": 2, "seed": 2, "network": 2, "time": 101}
    assert numbers.null.sizes == {"moment": 2, "flip": 5}
    assert (numbers.defect > numbers.null.max("flip")).all()  # digits are not symmetric
    assert (numbers.gap.sel(loss="square", kind="centered").isel(time=-1) > 0.01).all()
    assert numbers.halves_loss < numbers.least_squares


def test_the_linear_network_does_not_see_mirror_images(numbers):
    """One linear run stands beside both kinds of data."""
    linear = numbers.curve.sel(network="linear")
    assert (linear.sel(kind="centered") == linear.sel(kind="mirrored")).all()
