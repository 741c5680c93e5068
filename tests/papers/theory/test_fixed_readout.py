"""Second layer fixed, symmetric data: a rank-one network is a linear model, for either loss."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import floats, integers, sampled_from
from scipy.integrate import solve_ivp

import biasfree as bf
from biasfree_papers.sarussi2021.fixed_readout import fixed_readout_descent, fixed_readout_flow

leaks, seeds = floats(0, 1), integers(0, 2**31)
losses = sampled_from(["square", "logistic"])


def symmetric_data(d, seed, loss, n=7):
    data = bf.data.odd_sine(n=n, d=d, seed=seed)
    return data if loss == "square" else bf.Dataset(data.x, np.where(data.y > 0, 1.0, -1.0))


def start(d, width, scale, length, leak, seed):
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
    loss=losses,
)
def test_it_is_the_flow_of_the_first_layer(leak, width, d, seed, scale, length, loss):
    data, network = symmetric_data(d, seed, loss), start(d, width, scale, length, leak, seed)
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
@given(leak=leaks, width=integers(2, 9), d=integers(1, 4), seed=seeds, length=floats(1e-3, 3), loss=losses)
def test_it_is_the_descent_of_the_first_layer(leak, width, d, seed, length, loss):
    """Steps of different sizes, taken by hand."""
    data, network = symmetric_data(d, seed, loss), start(d, width, 1.0, length, leak, seed)
    sizes = np.random.default_rng(seed).uniform(0.01, 0.3, size=12)
    solved = fixed_readout_descent(network, data, sizes, 12, save_every=5, loss=loss)
    np.testing.assert_allclose(solved.ts, np.append(0, np.cumsum(sizes))[[0, 5, 10, 12]], rtol=1e-14)
    w1, found = network.weights[0], [network.weights[0]]
    for size in sizes:
        w1 = w1 + size * first_slope(w1, network, data, loss)
        found.append(w1)
    saved = np.array(found)[[0, 5, 10, 12]]
    # twelve steps of a few roundings each; |v·x| is far from rounding for all but one seed in 10⁹
    np.testing.assert_allclose(solved.weights[0], saved, rtol=0, atol=1e-12 * np.abs(saved).max())
    equal = fixed_readout_descent(network, data, 0.1, 3, loss=loss)
    same = fixed_readout_descent(network, data, [0.1, 0.1, 0.1], 3, loss=loss)
    assert np.array_equal(equal.weights[0], same.weights[0])


def test_descent_refuses_other_steps():
    data, network = symmetric_data(2, 0, "square"), start(2, 4, 1.0, 1.0, 0.3, 0)
    for step in ([0.1, 0.1], -0.1, [0.1, 0.0, 0.1]):
        with pytest.raises(
            ValueError, match="step must be one positive size, or 3 positive sizes, one per step"
        ):
            fixed_readout_descent(network, data, step, 3)


def test_square_loss_ends_at_least_squares_and_logistic_at_the_hard_margin():
    network = start(3, 6, 1.0, 0.01, 0.3, 0)
    regression = symmetric_data(3, 0, "square")
    last = fixed_readout_flow(network, regression, [1e4]).maps[-1, 0]
    np.testing.assert_allclose(last, bf.theory.least_squares(regression), rtol=1e-9)
    labels = bf.Dataset(regression.x, np.sign(regression.x @ np.array([1.0, -2, 0.5])))
    w = fixed_readout_flow(network, labels, [1e2, 1e4, 1e8], loss="logistic").maps[:, 0]
    best = bf.theory.max_margin(labels).direction
    angles = np.arccos(w @ best / np.linalg.norm(w, axis=1))
    assert (np.diff(angles) < 0).all()


def test_a_singular_sigma_keeps_what_the_samples_do_not_see():
    data = bf.data.symmetrize(bf.Dataset(np.array([[1.0, 0.2, 0.0]]), np.array([0.7])))
    network = start(3, 4, 1.0, 0.5, 0.2, 1)
    run = fixed_readout_flow(network, data, [0.0, 1e6])
    moved = run.maps[1, 0] - run.maps[0, 0]
    assert np.abs(np.cross(moved, data.x[0])).max() < 1e-12
    assert run.maps[1, 0] @ data.x[0] == pytest.approx(0.7, rel=1e-12)
    assert run.loss[1] < 1e-16  # ε times the squared distance from the shortest solution


def test_the_simulator_follows_it():
    data, network = symmetric_data(3, 5, "logistic"), start(3, 6, 1.0, 0.3, 0.4, 2)
    ts = np.linspace(0, 5, 4)
    run = bf.gradient_flow(network, data, ts, loss="logistic", train=(True, False), method="smooth")
    solved = fixed_readout_flow(network, data, ts, loss="logistic")
    # the simulator keeps 1e-8 per step
    np.testing.assert_allclose(run.weights[0], solved.weights[0], atol=1e-6)


def test_refusals():
    data, network = symmetric_data(3, 0, "square"), start(3, 6, 1.0, 0.5, 0.3, 0)
    random = bf.networks.gaussian((3, 6, 1), scale=1.0, leak=0.3)
    with pytest.raises(bf.AssumptionError, match=r"W₁ = W₂ᵀvᵀ, but"):
        fixed_readout_flow(random, data, [1.0])
    one_signed = bf.Network((np.abs(network.weights[1].T) @ [[1.0, 2, 0]], np.abs(network.weights[1])))
    with pytest.raises(bf.AssumptionError, match=r"\|W₂⁺\| = \|W₂⁻\|, but"):
        fixed_readout_flow(one_signed, data, [1.0])
    with pytest.raises(bf.AssumptionError, match="Condition 3"):
        fixed_readout_flow(network, bf.Dataset(data.x[:5], data.y[:5]), [1.0])
    with pytest.raises(ValueError, match=r"needs labels -1 and \+1"):
        fixed_readout_flow(network, data, [1.0], loss="logistic")
    with pytest.raises(TypeError, match="unexpected argument 'white_tolerance'"):
        fixed_readout_flow(network, data, [1.0], white_tolerance=1.0)
    # both half-lines have Σ/2 and β/2, which suffices for the square loss only
    one = bf.networks.rank_one([1.0], width=4, scale=0.1)
    moments = bf.Dataset(np.array([[1.0], [5], [6], [-2], [-3], [-7]]), [1.0, 1, 1, -1, -1, -1])
    fixed_readout_flow(one, moments, [1.0])
    with pytest.raises(bf.AssumptionError, match=r"with every mirror image.* is 1 .*bf.data.symmetrize"):
        fixed_readout_flow(one, moments, [1.0], loss="logistic")
