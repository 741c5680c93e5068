"""Descent to huge times: the iteration itself, with safe and growing steps."""

import numpy as np
import pytest

import biasfree as bf
import oracles

SEPARABLE = bf.data.symmetrize(bf.Dataset(np.array([[1.0, 0.4], [0.8, -0.5]]), np.ones(2)))
STARTS = [bf.networks.gaussian((2, 6, 1), scale=1e-2, leak=0.3, seed=seed) for seed in range(2)]


@pytest.fixture(scope="module")
def runs():
    return bf.long_descent(STARTS, [SEPARABLE, SEPARABLE], horizon=1e8)


def curvature(network, data, train):
    """The largest eigenvalue of the logistic loss's Hessian, by differences of gradients by hand."""
    sizes = [w.size for w in network.weights]
    start = np.concatenate([w.ravel() for w in network.weights])
    chosen = np.flatnonzero(np.repeat(train, sizes))

    def slope(state):
        weights = [
            w.reshape(o.shape) for w, o in zip(np.split(state, sizes[:1]), network.weights, strict=True)
        ]
        by_weight, _ = oracles.gradients(weights, oracles.layers(network)[1], network.leak, data, "logistic")
        return np.concatenate([g.ravel() for g in by_weight])[chosen]

    step = 1e-6
    units = step * np.eye(len(start))[chosen]
    hessian = np.array([(slope(start + v) - slope(start - v)) / (2 * step) for v in units])
    return np.abs(np.linalg.eigvalsh((hessian + hessian.T) / 2)).max()


@pytest.mark.parametrize("train", [(True, True), (True, False), (False, True)])
@pytest.mark.parametrize("seed", range(4))
def test_a_step_is_at_most_half_of_the_inverse_curvature(train, seed):
    rng = np.random.default_rng(seed)
    data = bf.Dataset(rng.normal(size=(9, 3)), rng.choice([-1.0, 1.0], size=9))
    network = bf.networks.gaussian((3, 5, 1), scale=3.0, leak=0.3, seed=seed)
    run = bf.long_descent(network, data, horizon=1e6, train=train, save_every=1, max_steps=1)
    # differences of gradients of order 1 by 1e-6: 1e-9, and the curvature is of order 1
    assert run.ts[1] * curvature(network, data, train) <= 0.5 * (1 + 1e-6)
    assert run.loss[0] == pytest.approx(oracles.loss(network, data, "logistic"), rel=1e-13)


def test_the_loss_falls_and_steps_grow(runs):
    for run, start in zip(runs, STARTS, strict=True):
        assert run.ts[-1] >= 1e8 > run.ts[-2]
        assert run.leak == 0.3
        steps = np.diff(run.ts) / 64
        assert steps[-1] > 1e3 * steps[0]
        assert (np.diff(run.loss) < 0).all()
        np.testing.assert_array_equal(run.objective, run.loss)
        losses = run.map(lambda network: oracles.loss(network, SEPARABLE, "logistic"))
        np.testing.assert_allclose(run.loss, losses, rtol=1e-9)  # log1p(exp) of margins up to 20, by hand
        np.testing.assert_array_equal(run[0].weights[0], start.weights[0])
        assert run.stats.method == "long descent"
        assert run.stats.stopped == "horizon reached"
        assert run.stats.evaluations == run.stats.accepted == 64 * (len(run) - 1)
        assert run.stats.wall_time > 0


def test_it_is_gradient_descent_with_the_reported_steps(runs):
    """By hand, over all of the steps, each rounded once; and by the simulator, from one save to the next."""
    run = runs[1]
    weights, biases = oracles.layers(run[0])
    for step in (np.diff(run.ts) / 64).repeat(64):
        slopes, _ = oracles.gradients(weights, biases, 0.3, SEPARABLE, "logistic")
        weights = [w - step * g for w, g in zip(weights, slopes, strict=True)]
    for found, expected in zip(run[-1].weights, weights, strict=True):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * np.abs(expected).max())
    step = float(run.ts[4] - run.ts[3]) / 64
    plain = bf.gradient_descent(run[3], SEPARABLE, step=step, steps=64, save_every=64, loss="logistic")
    # the step is known to ε·t/step, and what is computed alone may round otherwise
    np.testing.assert_allclose(plain[-1].weights[0], run[4].weights[0], rtol=0, atol=1e-12)


def test_small_steps_lead_to_the_same_place():
    """Descent at a tenth of the steps: those of ηB = 1/2 misjudge time by a share of ηB/2 at most."""
    start = bf.networks.gaussian((2, 6, 1), scale=1.0, leak=0.3, seed=3)
    long = bf.long_descent(start, SEPARABLE, horizon=100.0)
    least = float(np.diff(long.ts).min()) / 640
    plain = bf.gradient_descent(
        start, SEPARABLE, step=least, steps=round(long.ts[-1] / least), save_every=10**7, loss="logistic"
    )
    # late, yf = ln t + O(1): a quarter of the time is ln(5/4) of some ten
    assert abs(np.log(long.loss[-1] / plain.loss[-1])) < np.log(5 / 4)
    np.testing.assert_allclose(long[-1](SEPARABLE.x), plain[-1](SEPARABLE.x), rtol=0, atol=np.log(5 / 4))


@pytest.mark.parametrize("leak", [0.0, 0.6])
def test_it_is_the_reduced_flow_at_huge_times(leak):
    """Steps of a quarter of the stable limit misjudge time by a factor of at most 5/4, and |w| goes as ln
    t."""
    start = bf.networks.rank_one([0.2, 1.0], width=6, scale=0.3, leak=leak)
    run = bf.long_descent(start, SEPARABLE, horizon=1e30)
    late = run.ts > 1e10
    flow = bf.theory.reduced_flow(start, SEPARABLE, run.ts[late], loss="logistic", rtol=1e-8)
    gap = np.linalg.norm((run.maps[late] - flow.maps)[:, 0], axis=1)
    assert (gap <= np.log(5 / 4) / np.log(1e10) * np.linalg.norm(flow.maps[:, 0], axis=1)).all()


def test_one_network_and_many_are_the_same(runs):
    """Steps are those that are safe for all: of seventeen equal networks, their own."""
    alone = bf.long_descent(STARTS[0], SEPARABLE, horizon=1e3)
    assert isinstance(alone, bf.Trajectory)
    many = bf.long_descent([STARTS[0]] * 17, SEPARABLE, horizon=1e3)
    assert len(many) == 17
    for run in (many[0], many[16]):
        np.testing.assert_allclose(run.ts, alone.ts, rtol=1e-10)
        np.testing.assert_allclose(run.weights[0], alone.weights[0], rtol=0, atol=1e-10)
    assert (np.diff(runs[0].ts[:3]) <= np.diff(alone.ts[:3])).all()


def test_a_fixed_layer_stays():
    run = bf.long_descent(STARTS[0], SEPARABLE, horizon=50.0, train=(True, False))
    np.testing.assert_array_equal(run.weights[1], np.broadcast_to(STARTS[0].weights[1], (len(run), 1, 6)))
    assert run.loss[-1] < run.loss[0]


def test_it_says_where_steps_did_not_suffice():
    """Labels that no bias-free network can have: x and 2x differ in theirs, and f(2x) = 2f(x)."""
    data = bf.Dataset(np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0], [0.0, -1.0]]), np.array([1.0, -1, 1, -1]))
    run = bf.long_descent(STARTS[0], data, horizon=1e9, max_steps=100)
    assert run.stats.stopped.startswith("max_steps=100 at t = ")
    assert run.stats.evaluations == 100
    assert len(run) == 3


def test_steps_that_raise_the_loss_are_undone(monkeypatch):
    """With steps a thousand times too large the loss still never rises, and the halvings are counted."""
    monkeypatch.setattr("biasfree.dynamics.descent._long_descent._SHARE", 500.0)
    data = bf.Dataset(
        np.array([[1.0, 0.3], [-0.6, 1.0], [0.5, -1.0], [-1.0, -0.8]]), np.array([1.0, -1, -1, 1])
    )
    run = bf.long_descent(bf.networks.gaussian((2, 6, 1), scale=1.0, seed=1), data, horizon=1e4, save_every=4)
    assert run.stats.rejected > 0
    assert run.stats.evaluations == run.stats.accepted + run.stats.rejected
    assert run.stats.accepted == 4 * (len(run) - 1)
    assert (np.diff(run.loss) <= 1e-12 * run.loss[:-1]).all()


def test_nothing_to_learn_takes_no_time():
    """Without a slope there is no curvature, and steps are as long as the horizon."""
    zero = bf.Network((np.zeros((6, 2)), np.zeros((1, 6))), leak=0.3)
    run = bf.long_descent(zero, SEPARABLE, horizon=50.0, train=(True, False))
    assert len(run) == 2
    np.testing.assert_allclose(run.loss, np.log(2))
