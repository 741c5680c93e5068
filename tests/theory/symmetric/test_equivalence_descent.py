"""[ZSL25] Theorem 5 (TMLR 8) under gradient descent: at any step size, to rounding."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import floats, integers, sampled_from

import biasfree as bf
import oracles

settings_ = settings(max_examples=30)


def symmetric(loss, seed):
    data = bf.data.odd_sine(n=6, d=3, seed=seed)
    return data if loss == "square" else bf.Dataset(data.x, np.where(data.y > 0, 1.0, -1.0))


@settings_
@given(
    leak=floats(0, 1),
    width=sampled_from([2, 9]),
    seed=integers(0, 2**31),
    scale=floats(1e-4, 1),
    step=floats(0.001, 0.1),
    l2=sampled_from([0.0, 0.03]),
    loss=sampled_from(["square", "logistic"]),
)
def test_relu_with_a_step_is_linear_with_c_times_the_step(leak, width, seed, scale, step, l2, loss):
    """W(0) = √(1/c)·W_lin(0), steps η and cη, l2 λ and λ/c: √c·W = W_lin after every step."""
    data, c = symmetric(loss, seed), (1 + leak) / 2
    direction = np.random.default_rng(seed).normal(size=3)
    relu = bf.networks.rank_one(direction, width=width, scale=scale, leak=leak, seed=seed)
    ours = bf.gradient_descent(relu, data, step=step, steps=60, save_every=20, loss=loss, l2=l2)
    twin = bf.theory.linear_twin(relu)
    linear = bf.gradient_descent(twin, data, step=c * step, steps=60, save_every=20, loss=loss, l2=l2 / c)
    # 60 steps of a few eps, 2e-14; they grow no faster than the weights, by which they are divided
    scaled = [np.sqrt(c) * w for w in ours.weights]
    assert oracles.distance(scaled, linear.weights) < 1e-12
    np.testing.assert_allclose(ours.loss, linear.loss, rtol=1e-11)


def test_the_same_step_for_both_is_not_the_same_path():
    """At equal η and rescaled time the two differ by a first-order error: what the theorem is about is cη."""
    data = symmetric("square", 0)
    relu = bf.networks.rank_one([1.0, 0.5, -0.3], width=7, scale=0.1)
    ours = bf.gradient_descent(relu, data, step=0.1, steps=60)
    linear = bf.gradient_descent(bf.theory.linear_twin(relu), data, step=0.1, steps=30)
    gap = oracles.distance([w[::2] / np.sqrt(2) for w in ours.weights], linear.weights)
    assert 1e-3 < gap < 0.3


def test_unequal_signs_break_it():
    """The positive and negative parts of W_2 must have equal norms; a network of one sign learns half."""
    data = symmetric("square", 0)
    one_sided = bf.Network((np.outer([0.1, 0.2], [0.6, 0.8, 0.0]), [[0.1, 0.2]]))
    ours = bf.gradient_descent(one_sided, data, step=0.1, steps=60)
    linear = bf.gradient_descent(bf.theory.linear_twin(one_sided), data, step=0.05, steps=60)
    assert oracles.distance([w / np.sqrt(2) for w in ours.weights], linear.weights) > 0.01
    assert ours.loss[-1] > linear.loss[-1]


@pytest.mark.parametrize("leak", [0.0, 0.4])
def test_the_form_persists(leak):
    """W_1 = W_2ᵀvᵀ with |W_2⁺| = |W_2⁻| after any number of steps, also when descent rotates v."""
    data = symmetric("square", 3)
    start = bf.networks.rank_one([1.0, 0.5, -0.3], width=12, scale=0.1, leak=leak)
    last = bf.gradient_descent(start, data, step=0.1, steps=500, save_every=500)[-1]
    w1, a = last.weights[0], last.weights[1][0]
    singular = np.linalg.svd(w1, compute_uv=False)
    assert singular[1] < 1e-12 * singular[0]  # eps a step, and contraction at the end of learning
    np.testing.assert_allclose(np.linalg.norm(a[a > 0]), np.linalg.norm(a[a < 0]), rtol=1e-12)
