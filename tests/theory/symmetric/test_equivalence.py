"""[ZSL25] Theorem 5 (TMLR 8): a rank-one ReLU network on symmetric data is its linear twin."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import floats, integers, sampled_from
from numpy.testing import assert_allclose, assert_array_equal

import biasfree as bf
import oracles
from refusals import invalid, refused

leaks, seeds, scales = floats(0, 1), integers(0, 2**31), floats(1e-4, 1)
LOSSES = ("square", "logistic", "huber")
losses = sampled_from(LOSSES)


def symmetric_data(d, seed, loss):
    data = bf.data.odd_sine(n=7, d=d, seed=seed)
    return bf.Dataset(data.x, np.where(data.y > 0, 1.0, -1.0)) if loss == "logistic" else data


def random_rank_one(d, width, scale, leak, seed):
    direction = np.random.default_rng(seed).normal(size=d)
    return bf.networks.rank_one(direction, width=width, scale=scale, leak=leak, seed=seed)


@settings(max_examples=50)
@given(leak=leaks, width=integers(2, 17), d=integers(1, 5), seed=seeds, scale=scales, loss=losses)
def test_descent_of_relu_is_descent_of_its_twin(leak, width, d, seed, scale, loss):
    """ReLU with step η is linear with step cη, at any step size: √c·W and W_lin agree to rounding."""
    data = symmetric_data(d, seed, loss)
    network = random_rank_one(d, width, scale, leak, seed)
    c = (1 + leak) / 2
    relu, _ = oracles.descended(network, data, step=0.1, steps=30, kind=loss)
    twin = bf.theory.linear_twin(network)
    linear, _ = oracles.descended(twin, data, step=0.1 * c, steps=30, kind=loss)
    # 30 steps, each adding rounding of a few eps, amplified by at most (1 + 0.1·s)^30 with s of order 5
    for w, lin in zip(relu, linear, strict=True):
        assert_allclose(np.sqrt(c) * w, lin, rtol=1e-9, atol=1e-11 * np.abs(lin).max())


@settings(max_examples=25)
@given(
    leak=leaks,
    width=integers(2, 9),
    d=integers(1, 4),
    seed=seeds,
    scale=floats(1e-3, 1),
    loss=losses,
    l2=sampled_from([0.0, 0.05]),
)
def test_reduced_flow_is_the_flow_of_the_network(leak, width, d, seed, scale, loss, l2):
    """D + 1 equations give the weights that all of H(D+1) give, with any loss and with L2."""
    data = symmetric_data(d, seed, loss)
    network = random_rank_one(d, width, scale, leak, seed)
    ts = np.array([0.0, 0.5, 2.0])

    found = oracles.flow(network, data, ts, kind=loss, l2=l2, rtol=1e-10)
    solved = bf.theory.reduced_flow(network, data, ts, loss=loss, l2=l2)
    # both integrators keep 1e-10 per step; over tens of steps and a growth of e^{2s} that is 1e-7
    for ours, theirs in zip(solved.weights, found, strict=True):
        assert_allclose(ours, theirs, rtol=0, atol=1e-7 * np.abs(theirs).max())


@pytest.mark.parametrize("loss", LOSSES)
def test_the_simulated_flow_of_relu_is_that_of_its_twin(loss):
    """W(t) = √2·W_lin(t/2) on mirror pairs, whatever the loss: two flows of `gradient_flow`."""
    data = symmetric_data(3, 1, loss)
    network, ts = random_rank_one(3, 6, 0.3, 0.0, 1), np.linspace(0, 20, 5)
    relu = bf.gradient_flow(network, data, ts, loss=loss)
    linear = bf.gradient_flow(bf.theory.linear_twin(network), data, ts / 2, loss=loss)
    assert relu.loss[-1] < 0.8 * relu.loss[0]
    # rtol 1e-8, of which a step may err a tenth, over hundreds of steps
    assert oracles.distance(relu, [np.sqrt(2) * w for w in linear.weights]) < 1e-6


def test_huber_needs_every_mirror_image():
    """Equal moments of both half-spaces suffice for the square loss only."""
    x = np.array([[1.0], [5.0], [6.0], [-2.0], [-3.0], [-7.0]])
    data, network = bf.Dataset(x, np.sign(x[:, 0])), bf.networks.rank_one([1.0], width=2, scale=0.1)
    bf.theory.reduced_flow(network, data, [1.0])
    refused("with every mirror image", bf.theory.reduced_flow, network, data, [1.0], loss="huber")
    applies = [row.applies for row in bf.theory.coverage(network, data) if row.result.loss == "huber"]
    assert applies == [False] * len(applies)


@settings(max_examples=50)
@given(leak=leaks, width=integers(2, 17), seed=seeds, scale=scales)
def test_weights_and_function_on_rescaled_time(leak, width, seed, scale):
    """W(t) = √(1/c)·W_lin(ct) and f(x; W(t)) = f_lin(x; W_lin(ct)), between two solved flows."""
    data = symmetric_data(3, seed, "square")
    network = bf.networks.rank_one([1.0, -0.5, 0.3], width=width, scale=scale, leak=leak, seed=seed)
    c, ts = (1 + leak) / 2, np.linspace(0, 3, 4)
    relu = bf.theory.reduced_flow(network, data, ts)
    linear = bf.theory.reduced_flow(bf.theory.linear_twin(network), data, c * ts)
    # the same equations from initial weights that differ by rounding
    assert bf.diagnostics.weight_errors(relu, linear).max() < 1e-11
    assert_allclose(relu[-1](data.x), linear[-1](data.x), rtol=1e-10, atol=1e-12)
    assert_allclose(relu.loss, [np.mean((data.y - net(data.x)) ** 2) / 2 for net in relu], rtol=1e-12)


@given(leak=leaks, seed=seeds)
def test_twins_are_inverse(leak, seed):
    network = bf.networks.gaussian((3, 4, 1), scale=0.1, leak=leak, seed=seed)
    back = bf.theory.from_linear_twin(bf.theory.linear_twin(network), leak=leak)
    assert back.leak == leak
    oracles.assert_same_weights(back, network, rtol=4e-16)


def test_a_sample_on_the_hyperplane_breaks_it():
    """Data ±e₁, ±e₂ and r = e₁: ReLU never sees e₂, its linear twin does, and the solution is refused."""
    data = bf.data.symmetrize(bf.Dataset(np.eye(2), [1.0, 1.0]))
    network = bf.networks.rank_one([1.0, 0.0], width=2, scale=0.1)
    (w1, w2), _ = oracles.descended(network, data, step=0.1, steps=2000)
    assert_allclose((w2 @ w1)[0] / 2, [1, 0], atol=1e-6)
    refused("r·x ≠ 0 on the samples", bf.theory.reduced_flow, network, data, [1.0])


def test_only_two_layers_have_such_a_twin():
    deep = bf.networks.gaussian((2, 3, 3, 1), scale=0.1)
    invalid("two layers without biases", bf.theory.linear_twin, deep)
    with pytest.raises(ValueError, match="a linear twin has leak 1"):
        bf.theory.from_linear_twin(bf.networks.gaussian((2, 3, 1), scale=0.1), leak=0.5)


@settings(max_examples=30)
@given(
    leak=leaks,
    shape=sampled_from([(2, 4), (3, 7)]),  # a new shape compiles anew
    seed=seeds,
    scale=floats(1e-3, 1),
    loss=losses,
    l2=sampled_from([0.0, 0.03]),
)
def test_solved_flows_are_the_simulated_one(leak, shape, seed, scale, loss, l2):
    """The twin's flow and the reduced one against `gradient_flow`: 1e-7 along the path at rtol 1e-9."""
    d, width = shape
    data = symmetric_data(d, seed, loss)
    network = random_rank_one(d, width, scale, leak, seed)
    ts = np.linspace(0, 6, 5)
    simulated = bf.gradient_flow(network, data, ts, loss=loss, l2=l2, rtol=1e-9, method="smooth")
    for solver in (bf.theory.equivalent_flow, bf.theory.reduced_flow):
        solved = solver(network, data, ts, loss=loss, l2=l2)
        assert oracles.distance(simulated.weights, solved.weights) < 1e-7
        assert_allclose(solved.loss, simulated.loss, rtol=1e-7, atol=1e-9)
        assert_allclose(solved.objective, simulated.objective, rtol=1e-7, atol=1e-9)
        assert set(solved.stats.defects) >= {"symmetry", "rank_one", "signs", "hyperplane"}


@settings(max_examples=30)
@given(
    leak=leaks,
    shape=sampled_from([(2, 4), (3, 7)]),
    seed=seeds,
    scale=floats(1e-6, 1),
    step=floats(0.01, 0.5),
    loss=losses,
    l2=sampled_from([0.0, 0.03]),
    stretch=floats(0.5, 2),
)
def test_solved_descent_is_the_simulated_one(leak, shape, seed, scale, step, loss, l2, stretch):
    """`equivalent_descent` to 1e-12 at any stable step, from W₁ = W₂ᵀvᵀ with any |v|."""
    d, width = shape
    data = symmetric_data(d, seed, loss)
    start = random_rank_one(d, width, scale, leak, seed)
    network = bf.Network((stretch * start.weights[0], start.weights[1]), leak=leak)
    curvature = (
        2 * np.linalg.norm(data.sigma, 2) * np.linalg.norm(np.linalg.lstsq(data.x, data.y, rcond=None)[0])
    )
    step = step / max(1.0, curvature)  # 2/curvature is the largest stable one at least squares
    options = {"save_every": 7, "loss": loss, "l2": l2}
    simulated = bf.gradient_descent(network, data, step=step, steps=40, **options)
    solved = bf.theory.equivalent_descent(network, data, step, 40, **options)
    assert_array_equal(solved.ts, simulated.ts)
    assert oracles.distance(simulated.weights, solved.weights) < 1e-12
    assert_allclose(solved.objective, simulated.objective, rtol=1e-12)


def test_relaxed_tolerances_give_the_twin_of_random_weights():
    data = symmetric_data(3, 0, "square")
    network = bf.networks.gaussian((3, 30, 1), scale=1e-3, seed=1)
    refused(r"W₁ = W₂ᵀvᵀ, but.*bf\.theory\.aligned", bf.theory.equivalent_flow, network, data, [1.0])
    ts = np.linspace(0, 8, 5)
    solved = bf.theory.equivalent_flow(network, data, ts, rank_one_tolerance=1, signs_tolerance=1)
    twin = bf.theory.linear_twin(network)
    expected = oracles.flow(twin, data, ts / 2)
    # both integrators at 1e-10 and tighter
    assert oracles.distance([w / np.sqrt(2) for w in solved.weights], expected) < 1e-8
    assert solved.stats.defects["rank_one"] > 0.1


def test_diverging_descent_says_so():
    data = symmetric_data(2, 0, "square")
    network = bf.networks.rank_one([1.0, 0.5], width=4, scale=1.0)
    with pytest.raises(RuntimeError, match=r"linear network diverged within .* use a smaller step"):
        bf.theory.equivalent_descent(network, data, 50.0, 100)


@settings(max_examples=30)
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
    data, c = symmetric_data(3, seed, loss), (1 + leak) / 2
    direction = np.random.default_rng(seed).normal(size=3)
    relu = bf.networks.rank_one(direction, width=width, scale=scale, leak=leak, seed=seed)
    ours = bf.gradient_descent(relu, data, step=step, steps=60, save_every=20, loss=loss, l2=l2)
    twin = bf.theory.linear_twin(relu)
    linear = bf.gradient_descent(twin, data, step=c * step, steps=60, save_every=20, loss=loss, l2=l2 / c)
    # 60 steps of a few eps, 2e-14; they grow no faster than the weights, by which they are divided
    scaled = [np.sqrt(c) * w for w in ours.weights]
    assert oracles.distance(scaled, linear.weights) < 1e-12
    assert_allclose(ours.loss, linear.loss, rtol=1e-11)


def test_the_same_step_for_both_is_not_the_same_path():
    """At equal η and rescaled time the two differ by a first-order error: what the theorem is about is cη."""
    data = symmetric_data(3, 0, "square")
    relu = bf.networks.rank_one([1.0, 0.5, -0.3], width=7, scale=0.1)
    ours = bf.gradient_descent(relu, data, step=0.1, steps=60)
    linear = bf.gradient_descent(bf.theory.linear_twin(relu), data, step=0.1, steps=30)
    gap = oracles.distance([w[::2] / np.sqrt(2) for w in ours.weights], linear.weights)
    assert 1e-3 < gap < 0.3


def test_unequal_signs_break_it():
    """The positive and negative parts of W_2 must have equal norms; a network of one sign learns half."""
    data = symmetric_data(3, 0, "square")
    one_sided = bf.Network((np.outer([0.1, 0.2], [0.6, 0.8, 0.0]), [[0.1, 0.2]]))
    ours = bf.gradient_descent(one_sided, data, step=0.1, steps=60)
    linear = bf.gradient_descent(bf.theory.linear_twin(one_sided), data, step=0.05, steps=60)
    assert oracles.distance([w / np.sqrt(2) for w in ours.weights], linear.weights) > 0.01
    assert ours.loss[-1] > linear.loss[-1]


@pytest.mark.parametrize("leak", [0.0, 0.4])
def test_the_form_persists(leak):
    """W_1 = W_2ᵀvᵀ with |W_2⁺| = |W_2⁻| after any number of steps, also when descent rotates v."""
    data = symmetric_data(3, 3, "square")
    start = bf.networks.rank_one([1.0, 0.5, -0.3], width=12, scale=0.1, leak=leak)
    last = bf.gradient_descent(start, data, step=0.1, steps=500, save_every=500)[-1]
    w1, a = last.weights[0], last.weights[1][0]
    singular = np.linalg.svd(w1, compute_uv=False)
    assert singular[1] < 1e-12 * singular[0]  # eps a step, and contraction at the end of learning
    assert_allclose(np.linalg.norm(a[a > 0]), np.linalg.norm(a[a < 0]), rtol=1e-12)
