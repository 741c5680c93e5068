"""The digits in small: fewer neurons, steps and flips."""


def test_numbers(numbers):
    assert numbers["square_centred_loss"].shape == (2, 2, 101)
    assert numbers["null"].shape == (2, 5)
    assert (numbers["defects"] > numbers["null"].max(axis=1)).all()  # digits are not symmetric
    assert (numbers["square_centred_gap"][:, -1] > 0.01).all()
    assert numbers["halves_loss"] < numbers["least_squares"]
