"""The loss and its slope, tested separately over sizes: a wrong loss beside a right gradient is not
noticed."""

from functools import cache

import numpy as np
import optax
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis.strategies import booleans, floats, integers, sampled_from

import biasfree as bf
import oracles

#: Every sample count and every width from 1 to 17 once, and a shape of its own each: small with large.
SIZES = [(p, 18 - p) for p in range(1, 18)]
#: Each size is compiled anew. The layers of both losses are the same code, so that a size at which they are
#: wrong fails with the square loss; with the logistic loss, only some sizes are tried in every test run.
SIZES_AND_LOSSES = [
    pytest.param(p, h, loss, marks=[pytest.mark.slow] * (loss == "logistic" and p not in (1, 7, 17)))
    for p, h in SIZES
    for loss in ("square", "logistic")
]
#: Sums of at most 17·17 terms, each rounded: 300·2.2e-16, times what cancels between them.
ROUNDING = 1e-12

ONE_STEP = optax.sgd(1.0)


def evaluated(network, data, *, loss="square", l2=0.0, train=None):
    """The loss and the slopes of weights and biases: a step of length one adds the slope."""
    run = bf.optimize(network, data, ONE_STEP, steps=1, loss=loss, l2=l2, train=train)
    return run.loss[0], [after - before for before, after in oracles.arrays(run)]


def case(samples, width, loss):
    """A network and its data; depth, outputs and biases change in turn."""
    depth, outputs, biased = 2 + samples % 2, 1 + width % 3 // 2, samples // 2 % 2 == (loss == "square")
    data = oracles.random_data(samples, 3, outputs=outputs, labels=loss == "logistic", seed=samples)
    network = bf.networks.gaussian((3, *(width,) * (depth - 1), outputs), scale=2.0, leak=0.3, seed=width)
    return oracles.with_biases(network) if biased else network, data


def expected_slopes(network, data, loss, l2):
    by_weight, by_bias = oracles.gradients(*oracles.layers(network), network.leak, data, loss, l2)
    return [-g for g in by_weight + (by_bias if network.biases is not None else [])]


def torch_value_and_slopes(network, data, loss, l2):
    """The same by PyTorch's autograd."""
    model = network.to_torch()
    x, y = torch.from_numpy(data.x.copy()), torch.from_numpy(data.targets.copy())
    f = model(x)
    each = (y - f) ** 2 / 2 if loss == "square" else torch.nn.functional.softplus(-y * f)
    value = each.sum() / len(x)
    linear = [m for m in model if isinstance(m, torch.nn.Linear)]
    penalised = value + l2 / 2 * sum((m.weight**2).sum() for m in linear)
    penalised.backward()
    parameters = [m.weight for m in linear] + [m.bias for m in linear if m.bias is not None]
    return value.item(), [-p.grad.numpy() for p in parameters if p.grad is not None]


def assert_slopes(found, expected, tolerance=ROUNDING):
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=tolerance * (np.abs(other).max() + 1e-3))


@cache
def sized(samples, width, loss):
    """A network, its data, and their loss and slopes."""
    network, data = case(samples, width, loss)
    return network, data, *evaluated(network, data, loss=loss, l2=0.2)


@pytest.mark.parametrize(("samples", "width", "loss"), SIZES_AND_LOSSES)
def test_loss(samples, width, loss):
    network, data, value, _ = sized(samples, width, loss)
    np.testing.assert_allclose(value, oracles.loss(network, data, loss), rtol=ROUNDING)
    np.testing.assert_allclose(value, torch_value_and_slopes(network, data, loss, 0.2)[0], rtol=ROUNDING)


@pytest.mark.parametrize(("samples", "width", "loss"), SIZES_AND_LOSSES)
def test_slope(samples, width, loss):
    network, data, _, slopes = sized(samples, width, loss)
    assert_slopes(slopes, expected_slopes(network, data, loss, 0.2))
    assert_slopes(slopes, torch_value_and_slopes(network, data, loss, 0.2)[1])


@settings(deadline=None, max_examples=40)
@given(
    leak=floats(0, 1),
    l2=sampled_from([0.0, 0.7]),
    seed=integers(0, 2**31),
    depth=sampled_from([1, 3]),
    loss=sampled_from(["square", "logistic"]),
    biased=booleans(),
)
def test_slope_is_the_derivative(leak, l2, seed, depth, loss, biased):
    """Central differences of loss + penalty, the oracle's and not the package's, in a random direction."""
    data = oracles.random_data(5, 2, labels=loss == "logistic", seed=seed)
    network = bf.networks.gaussian((2, *(4,) * (depth - 1), 1), scale=1.5, leak=leak, seed=seed)
    network = oracles.with_biases(network, seed=seed) if biased else network
    rng, h = np.random.default_rng(seed), 1e-5
    directions = [rng.normal(size=w.shape) for w in (*network.weights, *(network.biases or ()))]
    hidden = np.concatenate([z.ravel() for z in network.preactivations(data.x)[:-1]] or [np.ones(1)])
    # a kink within reach of the difference would spoil it: z moves by less than 100·h
    assume(leak == 1 or np.abs(hidden).min() > 100 * h)

    def objective_at(t):
        moved = [
            w + t * v for w, v in zip((*network.weights, *(network.biases or ())), directions, strict=True)
        ]
        there = bf.Network(moved[:depth], leak=leak, biases=moved[depth:] or None)
        return oracles.loss(there, data, loss) + oracles.penalty(there, l2)

    measured = -(objective_at(h) - objective_at(-h)) / (2 * h)
    _, slopes = evaluated(network, data, loss=loss, l2=l2)
    along = sum(np.sum(s * v) for s, v in zip(slopes, directions, strict=True))
    size = np.sqrt(sum(np.sum(s**2) for s in slopes) * sum(np.sum(v**2) for v in directions))
    # h²·f‴/6 = 2e-11·f‴ and rounding eps·f/h = 2e-11·f; f and its derivatives are below 10^3 at these weights
    np.testing.assert_allclose(along, measured, rtol=0, atol=1e-7 * (1 + size))


@pytest.mark.parametrize("samples", [52_429, 130_000])
@pytest.mark.parametrize("loss", ["square", pytest.param("logistic", marks=pytest.mark.slow)])
def test_chunks_add_up(samples, loss):
    """Samples are taken in chunks of 2¹⁸ activations, here 52 428 samples: one more than that, and many."""
    data = oracles.random_data(samples, 3, labels=loss == "logistic")
    network = oracles.with_biases(bf.networks.gaussian((3, 5, 1), scale=2.0, leak=0.3, seed=2))
    value, slopes = evaluated(network, data, loss=loss, l2=0.2)
    np.testing.assert_allclose(value, oracles.loss(network, data, loss), rtol=ROUNDING)
    assert_slopes(slopes, expected_slopes(network, data, loss, 0.2))


@pytest.mark.parametrize("leak", [0.0, 0.25, 1.0])
def test_slope_at_an_exact_zero_is_the_leak(leak):
    """σ′(0) = α, as PyTorch has it, for w ⟂ x exactly and for w = 0; also at −0.0."""
    data = bf.data.symmetrize(bf.Dataset([[1.0, 0.0], [0.0, 2.0]], [1.0, 3.0]))
    network = bf.Network(([[0.0, 1.0], [-1.0, 0.0], [0.0, 0.0]], [[1.0, 2.0, 3.0]]), leak=leak)
    _, slopes = evaluated(network, data)
    assert_slopes(slopes, expected_slopes(network, data, "square", 0.0))
    assert_slopes(slopes, torch_value_and_slopes(network, data, "square", 0.0)[1])
    # by hand: the force on the neuron at w = 0 is 3α⟨ex⟩
    f = network(data.x)
    np.testing.assert_allclose(slopes[0][2], 3 * leak * (data.y - f) @ data.x / 4, atol=1e-15)


@pytest.mark.parametrize("train", [(True, False, True), (False, True, False), (False, False, True)])
def test_layers_that_are_not_trained_have_no_slope(train):
    data = oracles.random_data(5, 3)
    network = oracles.with_biases(bf.networks.gaussian((3, 4, 4, 1), scale=2.0, seed=1))
    _, slopes = evaluated(network, data, l2=0.3, train=train)
    for slope, on, expected in zip(
        slopes, train * 2, expected_slopes(network, data, "square", 0.3), strict=True
    ):
        assert_slopes([slope], [expected * on])
        assert on or not slope.any()


def test_samples_at_the_origin_count_in_the_mean_only():
    """(0, 0) is its own mirror image: no slope, no loss, but 1/P of the samples."""
    data = bf.data.symmetrize(bf.Dataset([[1.0, 2.0], [0.0, 0.0]], [1.0, 0.0]))
    network = bf.networks.gaussian((2, 3, 1), scale=1.0, seed=3)
    value, slopes = evaluated(network, data)
    np.testing.assert_allclose(value, oracles.loss(network, data), rtol=ROUNDING)
    assert_slopes(slopes, expected_slopes(network, data, "square", 0.0))
