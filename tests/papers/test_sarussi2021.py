"""Sarussi et al. in small; a second layer that is fixed, on symmetric data: a linear model."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import floats, integers, sampled_from
from scipy.integrate import solve_ivp

import biasfree as bf
from biasfree_papers.sarussi2021.compute import Settings, differ, repeated, start, task
from biasfree_papers.sarussi2021.fixed_readout import fixed_readout_descent, fixed_readout_flow
from refusals import invalid, refused


def test_numbers(numbers):
    assert dict(numbers.differ.sizes) == {"scale": 2, "samples": 3, "seed": 2, "when": 2}
    assert numbers.varied.values.tolist() == ["leak", "leak", "width"]


def test_the_same_runs_have_the_same_boundaries(numbers):
    """The leak and the width of all other runs, at the least scale and with the most samples."""
    usual = numbers.differ.isel(scale=0, samples=-1).transpose("seed", "when")
    for variant in (1, 2):
        same = numbers.variant_differ.isel(variant=variant).transpose("seed", "when")
        np.testing.assert_array_equal(same, usual)


def test_mirrored_data_make_a_linear_model(numbers):
    """|W₁ − W₂ᵀvᵀ|/|W₁| is about the initial scale over the final one."""
    small = numbers.isel(scale=0)
    assert (small.gap < 3e-3).all()


def test_tasks_and_initial_weights(experiment):
    settings = Settings(**experiment.settle(experiment.small))
    one = task(settings, 4, 0)
    eight = repeated(settings, one)
    assert (len(one), len(eight)) == (4, 8)
    np.testing.assert_allclose(eight.beta, one.beta)
    wider = Settings(**experiment.settle({**experiment.small, "widths": (2, 6)}))
    network = start(wider, 0, 0.1, width=2)
    assert network.sizes == (3, 6, 1)
    np.testing.assert_allclose(network.weights[1], [[2**-0.5, -(2**-0.5), 0, 0, 0, 0]])


def test_boundary_of_known_networks():
    """|x₁| + ℓ with ℓ = x₂/2, a linear one, and one that is zero over an area."""
    x = np.random.default_rng(0).normal(size=(500, 2))
    bent = bf.Network((np.array([[1.0, 0], [-1, 0], [0, 1]]), np.array([[1.0, 1, 1]])), leak=0.0)
    even = np.abs(x[:, 0]) + np.abs(x[:, 1]) / 2
    assert differ(bent, x) == pytest.approx(np.mean(even > np.abs(x[:, 1]) / 2) / 2)
    assert differ(bf.networks.gaussian((2, 3, 1), scale=1.0, leak=1.0), x) == 0
    zero = bf.Network((np.array([[1.0, 0], [0, 1]]), np.array([[1.0, 1]])), leak=0.0)  # f = 0 where x < 0
    assert differ(zero, np.abs(x)) == 0


leaks, seeds = floats(0, 1), integers(0, 2**31)
either_loss = sampled_from(["square", "logistic"])


def symmetric_data(d, seed, loss, n=7):
    data = bf.data.odd_sine(n=n, d=d, seed=seed)
    return data if loss == "square" else bf.Dataset(data.x, np.where(data.y > 0, 1.0, -1.0))


def rank_one_start(d, width, scale, length, leak, seed):
    """W₁ = W₂ᵀvᵀ with |W₂| = scale and |v| = length."""
    v = np.random.default_rng(seed).normal(size=d)
    rank_one = bf.networks.rank_one(v, width=width, scale=scale, leak=leak, seed=seed)
    return bf.Network((length * rank_one.weights[0], rank_one.weights[1]), leak=leak)


def first_slope(w1, network, data, loss):
    """Ẇ₁ by hand."""
    a, h = network.weights[1][0], data.x @ w1.T
    gates = np.where(h > 0, 1.0, network.leak)
    f = (gates * h) @ a
    e = data.y - f if loss == "square" else data.y / (1 + np.exp(data.y * f))
    return (gates * a * e[:, None]).T @ data.x / len(data)


@settings(deadline=None, max_examples=40)
@given(
    leak=leaks,
    width=integers(2, 9),
    d=integers(1, 4),
    seed=seeds,
    scale=floats(0.1, 2),
    length=floats(1e-3, 3),
    loss=either_loss,
)
def test_it_is_the_flow_of_the_first_layer(leak, width, d, seed, scale, length, loss):
    data, network = symmetric_data(d, seed, loss), rank_one_start(d, width, scale, length, leak, seed)
    ts = np.array([0.0, 0.3, 2.0])

    def field(_, state):
        return first_slope(state.reshape(width, d), network, data, loss).ravel()

    begun = network.weights[0].ravel()
    found = solve_ivp(field, (0, 2), begun, t_eval=ts, method="DOP853", rtol=1e-10, atol=1e-12).y.T
    solved = fixed_readout_flow(network, data, ts, loss=loss)
    np.testing.assert_allclose(solved.weights[1], np.broadcast_to(network.weights[1], (3, 1, width)))
    # both integrators keep 1e-10 per step, over tens of steps; the flow of a convex loss amplifies nothing;
    # crossing a kink, along which the field is continuous but for rounding, costs another step
    np.testing.assert_allclose(
        solved.weights[0].reshape(3, -1), found, rtol=0, atol=1e-7 * np.abs(found).max()
    )
    f = np.array([net(data.x) for net in solved])
    np.testing.assert_allclose(f, solved.maps[:, 0] @ data.x.T, rtol=0, atol=1e-12 * np.abs(f).max())
    value = (data.y - f) ** 2 / 2 if loss == "square" else np.logaddexp(0, -data.y * f)
    np.testing.assert_allclose(solved.loss, value.mean(axis=1), rtol=1e-10)


@settings(deadline=None, max_examples=40)
@given(
    leak=leaks, width=integers(2, 9), d=integers(1, 4), seed=seeds, length=floats(1e-3, 3), loss=either_loss
)
def test_it_is_the_descent_of_the_first_layer(leak, width, d, seed, length, loss):
    """Steps of different sizes, taken by hand."""
    data, network = symmetric_data(d, seed, loss), rank_one_start(d, width, 1.0, length, leak, seed)
    sizes = np.random.default_rng(seed).uniform(0.01, 0.3, size=12)
    solved = fixed_readout_descent(network, data, sizes, loss=loss)
    np.testing.assert_allclose(solved.ts, [0, sizes.sum()], rtol=1e-14)
    w1 = network.weights[0]
    for size in sizes:
        w1 = w1 + size * first_slope(w1, network, data, loss)
    saved = np.array([network.weights[0], w1])
    # twelve steps of a few roundings each; |v·x| is far from rounding for all but one seed in 10⁹
    np.testing.assert_allclose(solved.weights[0], saved, rtol=0, atol=1e-12 * np.abs(saved).max())


def test_a_singular_sigma_keeps_what_the_samples_do_not_see():
    data = bf.data.symmetrize(bf.Dataset(np.array([[1.0, 0.2, 0.0]]), np.array([0.7])))
    network = rank_one_start(3, 4, 1.0, 0.5, 0.2, 1)
    run = fixed_readout_flow(network, data, [0.0, 1e6])
    moved = run.maps[1, 0] - run.maps[0, 0]
    assert np.abs(np.cross(moved, data.x[0])).max() < 1e-12
    assert run.maps[1, 0] @ data.x[0] == pytest.approx(0.7, rel=1e-12)
    assert run.loss[1] < 1e-16  # ε times the squared distance from the shortest solution


def test_other_networks_data_and_steps_are_refused():
    data, network = symmetric_data(3, 0, "square"), rank_one_start(3, 6, 1.0, 0.5, 0.3, 0)
    random = bf.networks.gaussian((3, 6, 1), scale=1.0, leak=0.3)
    refused(r"W₁ = W₂ᵀvᵀ, but", fixed_readout_flow, random, data, [1.0])
    one_signed = bf.Network((np.abs(network.weights[1].T) @ [[1.0, 2, 0]], np.abs(network.weights[1])))
    refused(r"\|W₂⁺\| = \|W₂⁻\|, but", fixed_readout_flow, one_signed, data, [1.0])
    refused("Condition 3", fixed_readout_flow, network, bf.Dataset(data.x[:5], data.y[:5]), [1.0])
    invalid(r"needs labels -1 and \+1", fixed_readout_flow, network, data, [1.0], loss="logistic")
    with pytest.raises(TypeError, match="unexpected argument 'white_tolerance'"):
        fixed_readout_flow(network, data, [1.0], white_tolerance=1.0)
    invalid("strictly increasing", fixed_readout_descent, network, data, [0.1, 0.0, 0.1])
    # both half-lines have Σ/2 and β/2, which suffices for the square loss only
    one = bf.networks.rank_one([1.0], width=4, scale=0.1)
    moments = bf.Dataset(np.array([[1.0], [5], [6], [-2], [-3], [-7]]), [1.0, 1, 1, -1, -1, -1])
    fixed_readout_flow(one, moments, [1.0])
    with pytest.raises(bf.AssumptionError, match=r"with every mirror image.* is 1 .*bf.data.symmetrize"):
        fixed_readout_flow(one, moments, [1.0], loss="logistic")
