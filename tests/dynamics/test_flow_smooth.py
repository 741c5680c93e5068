"""Flow of networks without kinks against SciPy's DOP853 and against its conserved quantities."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import floats, integers, lists, sampled_from

import biasfree as bf
import oracles
from biasfree.dynamics import UnfinishedError

#: One shape for every property of two linear layers.
DATA = oracles.random_data(8, 3, outputs=2, seed=1)
TS = np.linspace(0, 6, 7)


def linear(sizes=(3, 4, 2), *, scale=0.5, seed=0):
    return bf.networks.gaussian(sizes, scale=scale, leak=1.0, seed=seed)


def bound(run):
    """The error along the path that stats.error, the sum of relative local errors, allows.

    The flow here contracts, or grows with the weights, so that errors relative to them grow by no more than
    tenfold; 1e-11 is left to DOP853.
    """
    return 10 * run.stats.error + 1e-11


@pytest.mark.parametrize("rtol", [1e-5, 1e-8, 1e-11])
@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_linear_networks_follow_scipy(depth, rtol):
    network = linear((3, *(4,) * (depth - 1), 2), scale=1.0, seed=depth)
    run = bf.gradient_flow(network, DATA, TS, rtol=rtol)
    assert run.stats.method == "smooth"
    assert run.stats.rtol == rtol
    error = oracles.distance(run, oracles.flow(network, DATA, TS))
    assert error <= bound(run)
    # a step may err by rtol/10, and a few hundred are taken
    assert error <= 10 * rtol
    np.testing.assert_allclose(run.loss, [oracles.loss(n, DATA) for n in run], rtol=1e-12)


@settings(deadline=None, max_examples=25)
@given(
    samples=sampled_from([1, 2, 7, 17, 127, 128, 129, 384]),  # products are made in blocks of 128 columns
    sizes=lists(integers(1, 17), min_size=2, max_size=4),
    kind=sampled_from(["square", "logistic", "huber"]),
    seed=integers(0, 2**31),
)
def test_every_size_follows_scipy(samples, sizes, kind, seed):
    """Losses to rounding, and paths within their errors, whatever the numbers of samples and neurons."""
    data = oracles.random_data(samples, sizes[0], outputs=sizes[-1], labels=kind == "logistic", seed=seed)
    network, ts = linear(tuple(sizes), scale=0.7, seed=seed), np.linspace(0, 0.5, 3)
    run = bf.gradient_flow(network, data, ts, loss=kind)
    np.testing.assert_allclose(run.loss, [oracles.loss(n, data, kind) for n in run], rtol=1e-12)
    assert oracles.distance(run, oracles.flow(network, data, ts, kind=kind)) <= bound(run)


@pytest.mark.parametrize("l2", [0.0, 0.1])
@pytest.mark.parametrize("kind", ["logistic", "huber"])
def test_other_losses_follow_scipy(kind, l2):
    data = oracles.random_data(8, 3, labels=kind == "logistic", seed=2)
    network = linear((3, 4, 1), scale=0.3)
    run = bf.gradient_flow(network, data, TS, loss=kind, l2=l2)
    assert oracles.distance(run, oracles.flow(network, data, TS, kind=kind, l2=l2)) <= bound(run)


def test_samples_of_one_ray_and_at_the_origin_act_one_by_one_under_other_losses():
    """Only under the square loss do samples on one ray act as one, and those at the origin as a constant."""
    x = np.array([[1.0, 2.0], [0.5, 1.0], [-2.0, -4.0], [0.0, 0.0]])
    data, network = bf.Dataset(x, [3.0, -1.0, 0.5, 4.0]), linear((2, 3, 1))
    run = bf.gradient_flow(network, data, TS, loss="huber")
    np.testing.assert_allclose(run.loss, [oracles.loss(n, data, "huber") for n in run], rtol=1e-12)
    assert oracles.distance(run, oracles.flow(network, data, TS, kind="huber")) <= bound(run)


def test_only_the_last_layer_trained_has_no_kinks():
    """With fixed hidden layers a ReLU network is linear in its features."""
    network = bf.networks.gaussian((3, 5, 2), scale=2.0, leak=0.2, seed=3)
    run = bf.gradient_flow(network, DATA, TS, train=(False, True))
    assert run.stats.method == "smooth"
    assert (run.weights[0] == network.weights[0]).all()
    expected = oracles.flow(network, DATA, TS, trained=(False, True))
    assert oracles.distance(run, expected) <= bound(run)


@settings(deadline=None, max_examples=20)
@given(seed=integers(0, 2**31), scale=floats(1e-6, 1.5), l2=sampled_from([0.0, 0.05]))
def test_balance_is_conserved_and_decays_with_l2(seed, scale, l2):
    """W_1W_1ᵀ − W_2ᵀW_2 is constant, and with L2 falls as e^{−2λt} ([ZSL25] Eq. 36)."""
    run = bf.gradient_flow(linear(scale=scale, seed=seed), DATA, TS, l2=l2)
    w1, w2 = run.weights
    balance = w1 @ w1.transpose(0, 2, 1) - w2.transpose(0, 2, 1) @ w2
    expected = balance[0] * np.exp(-2 * l2 * run.ts)[:, None, None]
    # an error of ε|W_l| in each layer is one of 2ε(|W_1|² + |W_2|²) in the balance
    size = np.sum(w1**2, axis=(1, 2)) + np.sum(w2**2, axis=(1, 2))
    gap = np.linalg.norm(balance - expected, axis=(1, 2))
    assert run.stats.error is not None
    assert (gap <= 2 * (10 * run.stats.error + 1e-14) * size.max()).all()


@settings(deadline=None, max_examples=20)
@given(seed=integers(0, 2**31), scale=floats(1e-6, 1.5), l2=sampled_from([0.0, 0.05]))
def test_the_objective_never_rises(seed, scale, l2):
    run = bf.gradient_flow(linear(scale=scale, seed=seed), DATA, TS, l2=l2)
    # its slope is −|∇|², so an error ε in the weights costs ε|W||∇| ≤ ε·(a few times the objective) at most
    assert run.stats.error is not None
    slack = (
        10 * run.stats.error * (run.objective[0] + sum(np.sum(w**2, axis=(1, 2)).max() for w in run.weights))
    )
    assert (np.diff(run.objective) <= slack + 1e-15).all()
    np.testing.assert_allclose(run.objective, run.loss + [oracles.penalty(n, l2) for n in run], rtol=1e-12)


def test_it_ends_at_least_squares():
    run = bf.gradient_flow(linear(scale=0.5), DATA, [0.0, 300.0])
    best = np.linalg.lstsq(DATA.x, DATA.y, rcond=None)[0].T
    w1, w2 = run[-1].weights
    # errors made on the way are forgotten; those of the last steps are rtol/10 = 1e-9 of the weights
    np.testing.assert_allclose(w2 @ w1, best, rtol=0, atol=1e-7 * np.abs(best).max())


@pytest.mark.parametrize("ts", [[2.0], [1.0, 2.0, 6.0], [0.0, 6.0], [1e-12, 6.0]])
def test_times_may_start_anywhere(ts):
    network = linear()
    run = bf.gradient_flow(network, DATA, ts)
    np.testing.assert_array_equal(run.ts, ts)
    expected = oracles.flow(network, DATA, np.append(0.0, ts)[int(ts[0] == 0) :])
    assert oracles.distance(run, [w[-len(ts) :] for w in expected]) <= bound(run)


def test_the_initial_time_alone():
    network = linear()
    run = bf.gradient_flow(network, DATA, [0.0])
    assert run.ts.tolist() == [0.0]
    assert all(np.array_equal(w[0], start) for w, start in zip(run.weights, network.weights, strict=True))
    np.testing.assert_allclose(run.loss[0], oracles.loss(network, DATA), rtol=1e-13)
    assert run.stats.accepted == 0


@pytest.mark.parametrize("count", [64, 65, 129, 200])
def test_saved_times_in_blocks(count):
    """Compiled calls return 64 states; times before, at and after the border are all saved."""
    ts = np.linspace(0, 3, count)
    run = bf.gradient_flow(linear(), DATA, ts)
    np.testing.assert_array_equal(run.ts, ts)
    # the dense output between steps is of order 4, not 5: some ten times the error of the steps
    assert oracles.distance(run, oracles.flow(linear(), DATA, ts)) <= 10 * bound(run)


def test_saving_more_often_does_not_change_the_steps():
    few = bf.gradient_flow(linear(), DATA, [0.0, 3.0])
    many = bf.gradient_flow(linear(), DATA, np.linspace(0, 3, 60))
    assert few.stats.accepted == many.stats.accepted
    np.testing.assert_array_equal(few[-1].weights[0], many[-1].weights[0])


def test_until_stops_where_the_loss_falls_to_the_level():
    network = linear()
    whole = bf.gradient_flow(network, DATA, TS)
    level = (whole.loss[3] + whole.loss[4]) / 2
    run = bf.gradient_flow(network, DATA, TS, until=level)
    assert run.stats.stopped == "loss level reached"
    np.testing.assert_array_equal(run.ts[:-1], TS[:4])
    assert TS[3] < run.ts[-1] < TS[4]
    np.testing.assert_allclose(run.loss[-1], level, rtol=1e-12)  # bisected to 2⁻⁵⁰ of a step
    there = oracles.flow(network, DATA, np.array([0.0, run.ts[-1]]))
    assert oracles.distance([w[-1:] for w in run.weights], [w[-1:] for w in there]) <= 10 * bound(run)


def test_atol_is_relative_to_the_initial_norms():
    """A layer that decays costs no more steps once it is below atol; the tighter atol, the more steps."""
    network, data = linear(scale=1.0), bf.Dataset(DATA.x, np.zeros((8, 2)))
    runs = [bf.gradient_flow(network, data, [0.0, 8.0], l2=2.0, atol=a) for a in (1e-4, 1e-8, 1e-12)]
    steps = [run.stats.accepted for run in runs]
    assert steps[0] < steps[1] < steps[2]
    expected = oracles.flow(network, data, np.array([0.0, 8.0]), l2=2.0)
    for run, atol in zip(runs, (1e-4, 1e-8, 1e-12), strict=True):
        for w, exact in zip(run.weights, expected, strict=True):
            # a step errs by a tenth of rtol·|W| + atol·|W(0)|; old errors decay with the weights
            allowed = 1e-8 * np.linalg.norm(exact[-1]) + atol * np.linalg.norm(exact[0])
            assert np.linalg.norm(w[-1] - exact[-1]) <= 3 * allowed


def test_a_layer_that_starts_at_zero():
    network = bf.Network((np.zeros((4, 3)), linear().weights[1]), leak=1.0)
    run = bf.gradient_flow(network, DATA, TS)
    assert oracles.distance(run, oracles.flow(network, DATA, TS)) <= bound(run)


def test_a_network_at_rest_stays():
    network = bf.Network((np.zeros((4, 3)), np.zeros((2, 4))), leak=1.0)
    run = bf.gradient_flow(network, DATA, TS)
    assert not any(w.any() for w in run.weights)


def test_too_few_steps_say_so():
    with pytest.raises(
        UnfinishedError,
        match=r"the flow stopped at t = \S+ of 6 at rtol = 1e-08, after 5 steps \(max_steps = 5\)\. Raise",
    ):
        bf.gradient_flow(linear(), DATA, TS, max_steps=5)


def test_a_list_of_networks():
    networks = [linear(seed=i) for i in range(3)]
    runs = bf.gradient_flow(networks, DATA, TS)
    for run, network in zip(runs, networks, strict=True):
        np.testing.assert_array_equal(run.weights[0], bf.gradient_flow(network, DATA, TS).weights[0])


def test_each_of_a_list_of_datasets_is_checked_for_kinks():
    """Inputs that are all zero have none; the other dataset of the list has, and so have hidden biases."""
    blank, network = bf.Dataset(np.zeros((6, 2)), np.ones(6)), bf.networks.gaussian((2, 6, 1), scale=0.5)
    runs = bf.gradient_flow([network, network], [blank, bf.data.six_points()], [0.0, 1.0])
    assert [run.stats.method for run in runs] == ["smooth", "events"]
    assert bf.gradient_flow(oracles.with_biases(network), blank, [0.0, 1.0]).stats.method == "events"


def test_save_stores_a_measurement():
    plain = bf.gradient_flow(linear(), DATA, TS)
    run = bf.gradient_flow(linear(), DATA, TS, save=lambda network: network.norms)
    assert run.saved is not None
    np.testing.assert_array_equal(run.saved, plain.map(lambda network: network.norms))
    np.testing.assert_array_equal(run.loss, plain.loss)


def test_a_flow_that_errs_by_more_than_rtol_per_step_warns_or_raises(monkeypatch):
    """It never should, so that the sum of the errors is replaced."""
    steps = bf.gradient_flow(linear(), DATA, TS).stats.accepted
    monkeypatch.setattr("biasfree.dynamics.steps._flow.Flow.error", 1.1e-8 * steps)
    missed = (
        f"the error of the flow is about .*, more than rtol = 1e-08 for each of {steps} steps; use method="
    )
    with pytest.warns(UserWarning, match=missed):
        bf.gradient_flow(linear(), DATA, TS)
    with pytest.raises(UnfinishedError, match=missed):
        bf.gradient_flow(linear(), DATA, TS, rtol=1e-8)
