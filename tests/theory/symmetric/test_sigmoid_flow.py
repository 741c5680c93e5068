"""Small random weights on white input ([ZSL25] Corollary 14 with Theorem 13): one sigmoid, or two."""

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import floats, integers

import biasfree as bf
from refusals import invalid, refused

leaks, seeds = floats(0, 1), integers(0, 2**31)


def white_data(d, seed, *, size=1.0):
    data = bf.data.whiten(bf.data.odd_sine(n=12, d=d, seed=seed))
    return bf.Dataset(size * data.x, data.y)


def has_both_signs(network, data):
    """r₁ from the formula of Theorem 13."""
    r1 = network.weights[0] @ data.beta / np.linalg.norm(data.beta) + network.weights[1][0]
    return (r1 > 0).any() and (r1 < 0).any()


# the formulas at any imbalance; what the imbalance costs is in tests/theory/test_edges.py
ANY = {"both_signs_tolerance": 1.0, "growing_tolerance": np.inf}


@settings(max_examples=60)
@given(leak=leaks, d=integers(1, 5), seed=seeds, exponent=floats(-150, -2), size=floats(0.3, 3))
def test_sigmoid_to_twelve_digits(leak, d, seed, exponent, size):
    """w = β̄/(u₀^{−2}e^{−2st̃} + (ν/s)(1 − e^{−2st̃})) at 50 digits, from the same weights and β."""
    data = white_data(d, seed, size=size)
    network = bf.networks.gaussian((d, 9, 1), scale=10.0**exponent, leak=leak, seed=seed)
    if leak < 1 and not has_both_signs(network, data):
        return
    s, c = np.linalg.norm(data.beta), (1 + leak) / 2
    st = np.array([0, 1, 0.9 * np.log(10) * -exponent, 1.1 * np.log(10) * -exponent, 1e3, 1e6])
    st = np.unique(st)
    solved = bf.theory.sigmoid_flow(network, data, [*(st / (s * c)), np.inf], **ANY)
    with mp.workdps(50):
        beta = [mp.mpf(b) for b in data.beta]
        length, nu = mp.sqrt(sum(b**2 for b in beta)), mp.mpf(np.trace(data.sigma) / d)
        first, second = network.weights
        r1 = [
            (sum(mp.mpf(w) * b for w, b in zip(row, beta, strict=True)) / length + mp.mpf(a)) / 2
            for row, a in zip(first, second[0], strict=True)
        ]
        u0 = (1 + mp.mpf(leak)) / 2 * sum(v**2 for v in r1)
        for t, found in zip(st / (s * c), solved.maps[:, 0], strict=False):
            e2 = mp.exp(-2 * length * (1 + mp.mpf(leak)) / 2 * mp.mpf(t))
            exact = 1 / (e2 / u0 + nu / length * (1 - e2))
            gap = [mp.mpf(w) - exact * b / length for w, b in zip(found, beta, strict=True)]
            # exponents up to 2·345, held to 1.5e-13; cancellation in r₁ is mild for nine neurons
            assert mp.sqrt(sum(g**2 for g in gap)) < 1e-12 * exact
    np.testing.assert_allclose(solved.maps[-1, 0], data.beta / np.trace(data.sigma) * d, rtol=1e-12)


def test_two_sigmoids_are_the_simulated_network():
    """At width 8 the ± imbalance is tens of per cent; the two sigmoids keep it, weight by weight."""
    for seed in range(3):
        data = white_data(2, seed)
        network = bf.networks.gaussian((2, 8, 1), scale=1e-6, seed=seed)
        ts = np.linspace(0, 30, 6)
        simulated = bf.gradient_flow(network, data, ts, rtol=1e-9)
        solved = bf.theory.two_sigmoid_flow(network, data, ts)
        # the stand-in leaves out weights of the initial size, 1e-6, and their effect on the growth, (1e-6)²
        assert np.abs(solved.loss - simulated.loss).max() < 1e-9
        for one, other in zip(solved.weights, simulated.weights, strict=True):
            np.testing.assert_allclose(one, other, atol=3e-6)


@settings(max_examples=40)
@given(width=integers(2, 17), d=integers(1, 4), seed=seeds, exponent=floats(-150, -2), size=floats(0.3, 3))
def test_two_sigmoids_and_their_network_agree(width, d, seed, exponent, size):
    """f = [(ρ₊+ρ₋)/2]β̄·x + [(ρ₊−ρ₋)/2]|β̄·x|, its loss, and one sigmoid where the signs balance."""
    data = white_data(d, seed, size=size)
    network = bf.networks.gaussian((d, width, 1), scale=10.0**exponent, seed=seed)
    s = np.linalg.norm(data.beta)
    ts = np.array([0, 1, 2 * np.log(10) * -exponent, 4 * np.log(10) * -exponent, 1e6]) / s
    ts = [*np.unique(ts), np.inf]
    solved = bf.theory.two_sigmoid_flow(network, data, ts, growing_tolerance=np.inf)
    for net, loss in zip(solved, solved.loss, strict=True):
        assert loss == pytest.approx(np.mean((data.y - net(data.x)) ** 2) / 2, rel=1e-12)
    if has_both_signs(network, data):
        balanced = bf.theory.aligned(network, data, **ANY)
        one = bf.theory.sigmoid_flow(balanced, data, ts)
        two = bf.theory.two_sigmoid_flow(balanced, data, ts)
        np.testing.assert_allclose(two.maps, one.maps, rtol=1e-11)
        np.testing.assert_allclose(two.loss, one.loss, rtol=1e-11)


def test_a_sign_without_neurons_learns_nothing_on_its_half():
    data = white_data(2, 0)
    direction = data.beta / np.linalg.norm(data.beta)
    one_sided = bf.Network((1e-6 * np.outer([1, 2], direction), 1e-6 * np.array([[1.0, 2]])))
    end = bf.theory.two_sigmoid_flow(one_sided, data, [np.inf])[-1]
    side = data.x @ direction > 0
    np.testing.assert_allclose(end(data.x[side]), data.x[side] @ data.beta, rtol=1e-12)
    np.testing.assert_array_equal(end(data.x[~side]), 0)
    with pytest.raises(
        bf.AssumptionError,
        match=r"is inf \(tolerated: at most 0.5\); use a wider network, or bf.theory.two_neuron_flow",
    ):
        bf.theory.sigmoid_flow(one_sided, data, [1.0])


@settings(max_examples=40)
@given(leak=leaks, d=integers(1, 4), seed=seeds, exponent=floats(-150, -2), size=floats(0.3, 3))
def test_time_to_loss_inverts_the_sigmoid(leak, d, seed, exponent, size):
    data = white_data(d, seed, size=size)
    network = bf.networks.gaussian((d, 12, 1), scale=10.0**exponent, leak=leak, seed=seed)
    if leak < 1 and not has_both_signs(network, data):
        return
    start, floor = bf.theory.sigmoid_flow(network, data, [0.0, np.inf], **ANY).loss
    levels = floor + (start - floor) * np.array([0.9, 0.5, 0.1, 1e-3])
    times = bf.theory.time_to_loss(network, data, levels, **ANY)
    reached = bf.theory.sigmoid_flow(network, data, times, **ANY).loss
    # a loss is known to eps of itself, and its excess over the floor to eps·floor
    np.testing.assert_allclose(reached, levels, rtol=1e-11, atol=1e-11 * floor)
    assert bf.theory.time_to_loss(network, data, floor, **ANY) == np.inf
    assert bf.theory.time_to_loss(network, data, float(levels[1]), **ANY) == np.asarray(times)[1]


def test_refusals():
    data = white_data(3, 0)
    network = bf.theory.aligned(bf.networks.gaussian((3, 12, 1), scale=1e-6, seed=0), data, **ANY)
    with pytest.raises(ValueError, match=r"level must lie between the loss of least squares, 0\."):
        bf.theory.time_to_loss(network, data, 0.0)
    invalid("the initial one", bf.theory.time_to_loss, network, data, 100.0)
    with pytest.raises(bf.AssumptionError, match="a ReLU network, α = 0, but α is 0"):
        bf.theory.two_sigmoid_flow(bf.Network(network.weights, leak=0.5), data, [1.0])
    refused("white input", bf.theory.sigmoid_flow, network, bf.data.odd_sine(n=12, d=3), [1.0])
    with pytest.raises(bf.AssumptionError, match="small initial weights"):
        bf.theory.sigmoid_flow(bf.networks.gaussian((3, 12, 1), scale=1.0), data, [1.0])
    open_white = bf.theory.sigmoid_flow(network, bf.data.odd_sine(n=12, d=3), [1.0], white_tolerance=10)
    assert open_white.stats.defects["white"] > 0.1
