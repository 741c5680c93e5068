"""Dataset and Network copy their arrays, make them read-only, and check them."""

import copy
import dataclasses
import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis.strategies import floats, integers, lists
from numpy.testing import assert_allclose

import biasfree as bf
from biasfree import arrays
from refusals import invalid

x, y = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), np.array([1.0, -1.0, 0.5])
w1, w2 = np.arange(8.0).reshape(4, 2) - 3, np.array([[1.0, -1.0, 2.0, 0.5]])


def test_arrays_are_copied_and_read_only():
    mine, weight = x.copy(), w1.copy()
    data, network = bf.Dataset(mine, y), bf.Network((weight, w2))
    mine[0, 0] = weight[0, 0] = 99
    assert data.x[0, 0] == 1
    assert network.weights[0][0, 0] == -3
    for array in (data.x, data.y, data.sigma, data.beta, *network.weights):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    with pytest.raises(dataclasses.FrozenInstanceError):
        data.x = x  # type: ignore[misc]


def test_a_read_only_array_that_is_made_writeable_later_changes_nothing():
    mine = x.copy()
    mine.flags.writeable = False
    data = bf.Dataset(mine, y)
    mine.flags.writeable = True
    mine[0, 0] = 99
    assert data.x[0, 0] == 1
    for array in (
        data.x,
        data.sigma,
        bf.Network((w1, w2)).weights[0],
        arrays.increasing_times([0, np.inf], infinite=True),
    ):
        with pytest.raises(ValueError, match="cannot set WRITEABLE flag"):
            array.flags.writeable = True


def test_frozen_arrays_are_not_copied_again():
    data = bf.Dataset(x, y)
    assert bf.Dataset(data.x, y).x is data.x
    assert np.shares_memory(bf.Dataset(data.x.reshape(2, 3), y[:2]).x, data.x)
    assert not np.shares_memory(bf.Dataset(data.x[:2], y[:2]).x, data.x)
    assert not np.shares_memory(bf.Dataset(data.x.T, y[:2]).x, data.x)


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda v: pickle.loads(pickle.dumps(v))])
def test_copies_are_read_only_too(again):
    network = bf.Network((w1, w2), leak=0.5)
    flow = bf.theory.reduced_flow(
        bf.networks.rank_one([1, 2], width=4, scale=0.1), bf.data.odd_sine(20, 2), [0, 1]
    )
    for one in (bf.Dataset(x, y), network, flow):
        other = again(one)
        assert repr(other) == repr(one)
        held = [v for v in vars(other).values() if isinstance(v, np.ndarray)]
        assert not any(array.flags.writeable for array in [*held, *getattr(other, "weights", ())])


@pytest.mark.parametrize("kind", [np.float32, np.int8, np.uint16, bool, np.float64])
def test_real_numbers_of_any_kind_become_float64(kind):
    data = bf.Dataset(np.ones((2, 3), dtype=kind), np.zeros(2, dtype=kind))
    assert (data.x.dtype, data.y.dtype) == (np.float64, np.float64)


def test_moments_have_their_shapes_and_values():
    data, double = bf.Dataset(x, y), bf.Dataset(x, np.column_stack([y, 2 * y]))
    assert_allclose(data.sigma, sum(np.outer(v, v) for v in x) / 3, rtol=1e-15)
    assert_allclose(data.beta, sum(t * v for t, v in zip(y, x, strict=True)) / 3, rtol=1e-15)
    assert_allclose(double.beta, [data.beta, 2 * data.beta], rtol=1e-15)
    assert (data.outputs, double.outputs, data.targets.shape) == (1, 2, (3, 1))


def test_reprs_are_short():
    assert repr(bf.Dataset(x, y)) == "Dataset(samples=3, dimensions=2)"
    assert repr(bf.Dataset(x, x)) == "Dataset(samples=3, dimensions=2, outputs=2)"
    assert repr(bf.Network((w1, w2), leak=0.1)) == "Network(2→4→1, leak=0.1)"
    assert "with biases" in repr(bf.Network((w2,), biases=(np.ones(1),)))


def infinite(value):
    bad = x.copy()
    bad[1, 0] = value
    return bad


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (infinite(np.nan), y, r"x must be finite, got nan at index \(1, 0\); remove or replace"),
        (infinite(np.inf), y, r"x must be finite, got inf at index \(1, 0\)"),
        (x, [1, -np.inf, 0], r"y must be finite, got -inf at index \(1,\)"),
        (x, y[:2], "x and y must have the same length, got 3 and 2 samples"),
        (x[:0], y[:0], r"the dataset is empty: x has shape \(0, 2\)"),
        (x[:, :0], y, "the dataset is empty"),
        (x, np.ones((3, 0)), "the dataset is empty"),
        (x[:, 0], y, r"x must have shape \(samples, dimensions\), got \(3,\); use x\[:, None\]"),
        (x, np.ones((3, 1, 1)), "y must have shape"),
        (x, 1.0, r"y must have shape .* got \(\)"),
        (x.astype(object), y, "x must hold real numbers, got an array of dtype object"),
        (x.astype(str), y, "x must hold real numbers, got an array of dtype <U"),
        (x.astype(complex), y, "x must hold real numbers, got an array of dtype complex128"),
        (x, [None, 1, 2], "y must hold real numbers"),
        ([[1, 2], [3]], y, "x must be an array of numbers, got rows of different lengths"),
        (np.ma.masked_less(x, 2), y, "x must not be a masked array"),
        (list(np.ma.masked_less(x, 2)), y, "x must not be a masked array"),
        (x, [1, np.ma.masked, 2], "y must not be a masked array"),
        (None, y, "x must hold real numbers, got an array of dtype object"),
    ],
)
def test_datasets_refuse_bad_input(x, y, message):
    invalid(message, bf.Dataset, x, y)
    if "shape" not in message and "empty" not in message:
        invalid(message, bf.diagnose, data=(x, y))


@pytest.mark.parametrize(
    ("weights", "options", "message"),
    [
        ((), {}, "at least one layer"),
        (None, {}, "weights must be a tuple of arrays, one per layer .*, got a NoneType"),
        (3, {}, "weights must be a tuple of arrays, .* got a int"),
        ("w", {}, "weights must be a tuple of arrays, .* got a str"),
        ({"W1": w1}, {}, "weights must be a tuple of arrays, .* got a dict"),
        (w1, {}, r"got one array of shape \(4, 2\); a network of one layer is bf\.Network\(\(W_1,\)\)"),
        (np.ma.masked_less(w1, 0), {}, "weights must not be a masked array"),
        ((np.ma.masked_less(w1, 0), w2), {}, "W_1 must not be a masked array"),
        ((w1, w2), {"biases": 1.0}, "biases must be a tuple of arrays, .* got a float"),
        ((w1, w1), {}, "W_1 has 4 outputs but W_2 takes 2 inputs; weights are"),
        ((w1, w2[0]), {}, r"W_2 must have shape \(outputs, inputs\), got \(4,\)"),
        ((w1[:0],), {}, r"W_1 must have shape \(outputs, inputs\), got \(0, 2\)"),
        ((w1, w2 * np.nan), {}, r"W_2 must be finite, got nan at index \(0, 0\)"),
        ((w1.astype(object), w2), {}, "W_1 must hold real numbers, got an array of dtype object"),
        ((w1.astype(str), w2), {}, "W_1 must hold real numbers"),
        ((w1, w2), {"leak": 1.5}, r"leak must lie in \[0, 1\], got 1.5; 0 is ReLU, 1 is linear"),
        ((w1, w2), {"leak": -0.1}, "leak must not be negative, got -0.1"),
        ((w1, w2), {"leak": np.nan}, "leak must be finite"),
        ((w1, w2), {"leak": "0"}, "leak must be a number, got '0'"),
        ((w1, w2), {"leak": True}, "leak must be a number"),
        (
            (w1, w2),
            {"biases": (np.ones(4),)},
            r"one vector per layer, of lengths \[4, 1\], got shapes \[\(4,\)\]",
        ),
        ((w1, w2), {"biases": (np.ones(3), np.ones(1))}, "biases must be one vector per layer"),
        ((w1, w2), {"biases": (np.ones(4), [np.inf])}, "b_2 must be finite"),
    ],
)
def test_networks_refuse_bad_input(weights, options, message):
    invalid(message, bf.Network, weights, **options)


@pytest.mark.parametrize("bad", [np.ones(3), np.ones((2, 3)), np.ones((1, 1, 2)), 1.0])
def test_networks_refuse_inputs_of_the_wrong_shape(bad):
    invalid(r"x must have shape \(samples, 2\), got", bf.Network((w1, w2)), bad)


def forward(network, sample):
    """f(x) neuron by neuron, with nothing from the package."""
    h = z = list(sample)
    for i, w in enumerate(network.weights):
        bias = [0.0] * len(w) if network.biases is None else network.biases[i]
        z = [sum(a * b for a, b in zip(row, h, strict=True)) + c for row, c in zip(w, bias, strict=True)]
        h = [max(v, network.leak * v) for v in z]
    return z


@given(
    sizes=lists(integers(1, 6), min_size=2, max_size=5),
    p=integers(1, 17),
    leak=floats(0, 1),
    seed=integers(0, 99),
)
def test_outputs_agree_with_a_network_written_out(sizes, p, leak, seed):
    rng = np.random.default_rng(seed)
    weights = tuple(rng.normal(size=(n, m)) for m, n in pairwise(sizes))
    biases = tuple(rng.normal(size=n) for n in sizes[1:]) if seed % 2 else None
    network, x = bf.Network(weights, leak=leak, biases=biases), rng.normal(size=(p, sizes[0]))
    expected = np.array([forward(network, sample) for sample in x])
    expected = expected[:, 0] if sizes[-1] == 1 else expected
    # sums of at most 6 terms over 4 layers, in another order
    assert_allclose(network(x), expected, rtol=1e-12, atol=1e-12)
    assert_allclose(network(x[0]), expected[0], rtol=1e-12, atol=1e-12)


def test_depth_sizes_and_norms():
    network = bf.Network((w1, w2))
    assert (network.depth, network.sizes) == (2, (2, 4, 1))
    assert_allclose(network.norms, [np.sqrt((w1**2).sum()), np.sqrt(6.25)], rtol=1e-15)


def test_layers_may_have_one_output_and_samples_one_axis():
    network = bf.Network((w1, w2))
    assert isinstance(network([1.0, 2.0]), float)
    assert network(x).shape == (3,)
    assert bf.Network((w1,))(x).shape == (3, 4)


@pytest.mark.parametrize(
    ("check", "value", "message"),
    [
        (arrays.positive, 0, "v must be positive, got 0"),
        pytest.param(arrays.positive, 10**400, "v must be finite", id="huge integer"),
        (arrays.non_negative, -1e-9, "v must not be negative"),
        (arrays.finite, None, "v must be a number, got None"),
        (arrays.finite, np.nan, "v must be finite, got nan"),
        (arrays.whole, 1.0, "v must be a whole number of at least 1, got 1.0"),
        (arrays.whole, True, "v must be a whole number"),
        (arrays.whole, 0, "v must be a whole number of at least 1, got 0"),
    ],
)
def test_numbers_are_checked(check, value, message):
    invalid(message, check, "v", value)


@pytest.mark.parametrize(
    ("ts", "message"),
    [
        ([], "at least one time"),
        (
            60.0,
            r"one-dimensional array .* got the number 60; .* such as \[0, 60\] or np\.linspace\(0, 60, 101\)",
        ),
        ([-1, 0], "ts must not be negative"),
        ([0, 1, 1], r"strictly increasing, got 1.0 followed by 1.0 at index 2; .*np.unique"),
        ([0, np.nan], "ts must be finite"),
        (arrays.increasing_times([0, np.inf], infinite=True), "ts must be finite"),
        (np.ma.masked_less([0.0, 1.0, np.inf], 1), "ts must not be a masked array"),
    ],
)
def test_times_are_checked(ts, message):
    invalid(message, arrays.increasing_times, ts)
