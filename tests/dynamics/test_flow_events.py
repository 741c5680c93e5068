"""Flow of two layers through events: what it conserves, where it leads, and its arguments."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import floats, integers, sampled_from

import biasfree as bf
import oracles
from biasfree.dynamics import UnfinishedError
from event_runs import CUBE, LONG, SHORT, SIX, descent_distances, events_run, small, wide

some = settings(deadline=None, max_examples=15)


@pytest.mark.parametrize("seed", [0, 1])
def test_tighter_tolerances_converge(seed):
    for network, data, ts in ((wide(seed=seed), SIX, LONG), (small(seed=seed), CUBE, SHORT)):
        best = events_run(network, data, ts, rtol=1e-11)
        errors = [oracles.distance(events_run(network, data, ts, rtol=r), best) for r in (1e-6, 1e-8)]
        # a step may err by rtol/10; some hundred steps, and escapes from saddles that amplify by another ten
        assert errors[0] <= 1e-4
        assert errors[1] <= 1e-6
        assert errors[1] < errors[0] / 5


@some
@given(seed=integers(0, 2**31), leak=floats(0, 1), scale=floats(1e-3, 1), l2=sampled_from([0.0, 0.02]))
def test_balance_is_conserved_and_the_objective_never_rises(seed, leak, scale, l2):
    """|w_h|² − a_h² is constant for every neuron; with L2 it falls as e^{−2λt}."""
    network = bf.networks.gaussian((3, 8, 1), scale=scale, leak=leak, seed=seed)
    run = events_run(network, CUBE, SHORT, l2=l2)
    balance = np.sum(run.weights[0] ** 2, axis=2) - run.weights[1][:, 0] ** 2
    size = np.sum(run.weights[0] ** 2, axis=(1, 2)) + np.sum(run.weights[1] ** 2, axis=(1, 2))
    # an error ε|W| in the weights is one of 2ε|W|² in a balance; kinks not located add their share of ε
    allowed = 10 * (run.stats.error + 1e-9) * size.max()
    expected = balance[0] * np.exp(-2 * l2 * run.ts)[:, None]
    assert np.abs(balance - expected).max() <= allowed
    assert (np.diff(run.objective) <= allowed).all()
    np.testing.assert_allclose(run.loss, [oracles.loss(n, CUBE) for n in run], rtol=1e-10)


@some
@given(seed=integers(0, 2**31), leak=floats(0, 0.99))
def test_balanced_networks_have_a_unique_flow(seed, leak):
    """Balanced neurons never shrink to w = 0 alone, and the flow never branches."""
    run = events_run(small(seed=seed, leak=leak), CUBE, SHORT)
    assert run.stats.events["branch points"] == run.stats.events["collapses"] == 0
    assert run.stats.branch_times == ()


def test_a_hidden_layer_on_symmetric_data_is_the_reduced_flow():
    """[ZSL25] Thm. 5: rank-one weights, all neurons of a sign at every kink at once, have D + 1 equations."""
    data, ts = bf.data.odd_sine(n=20, d=3, seed=0), np.linspace(0, 40, 9)
    for leak in (0.0, 0.5):
        network = bf.networks.rank_one([1.0, -0.5, 0.2], width=20, scale=0.05, leak=leak)
        run = events_run(network, data, ts)
        solved = bf.theory.reduced_flow(network, data, ts)
        assert oracles.distance(run, solved) < 1e-6  # as converged as above; the solution itself is to 1e-10


@pytest.mark.parametrize(
    ("data", "end"), [(bf.data.orthogonal_pair(), 40.0), (bf.data.xor(), 80.0)], ids=["pair", "xor"]
)
def test_each_point_is_learned_by_its_own_neurons(data, end):
    """One sigmoid per point, ρ̇_i = 2ρ_i(s_i − |x_i|²ρ_i/P), s_i = |y_i||x_i|/P: the larger s_i, the
    earlier."""
    network, ts = bf.networks.balanced((2, 20, 1), scale=1e-6, seed=0), np.linspace(0, end, 81)
    run = bf.gradient_flow(network, data, ts)
    assert run.stats.method == "events"
    assert run.loss[-1] < 1e-8
    w, a = network.weights[0], network.weights[1][0]
    outputs = run.map(lambda n: n(data.x))
    for i, (x, y) in enumerate(zip(data.x, data.y, strict=True)):
        length = np.linalg.norm(x)
        mine = (np.sign(a) == np.sign(y)) & (w @ x > 0)
        start = np.sum(((w @ x / length + np.abs(a)) / 2)[mine] ** 2)
        rate, top = length / len(data), 1 / length
        expected = np.log(top / start - 1) / (2 * rate)  # ρ = top/2
        halfway = np.interp(0.5, np.abs(outputs[:, i]), ts)
        # crossings before the escape change ρ(0) by a factor of order 1 in 1e12: a few parts in ln 1e12 = 28
        np.testing.assert_allclose(halfway, expected, rtol=0.03)


def test_kinks_of_symmetric_data_are_stepped_over_at_small_weights():
    """Kinks cost less than the tolerance while the outputs are negligible: few steps, many kinks."""
    data, network = bf.data.odd_sine(n=20, d=3, seed=0), bf.networks.gaussian((3, 20, 1), scale=1e-4)
    ts = np.linspace(0, 40, 9)
    run = events_run(network, data, ts, rtol=1e-6)
    assert run.stats.accepted + run.stats.rejected < 400
    assert run.stats.events["stepped over"] > 100
    fine = events_run(network, data, ts, rtol=1e-9)
    # a step may err by rtol/10, kinks included
    assert oracles.distance(run, fine) < 1e-5
    far, near = descent_distances(fine, network, data, (0.02, 0.005))
    assert near < far / 2 < 0.05  # descent comes nearer to first order in its step


def test_until_stops_where_the_loss_falls_to_the_level():
    whole = events_run(wide(), SIX, LONG)
    level = (whole.loss[4] + whole.loss[5]) / 2
    run = events_run(wide(), SIX, LONG, until=level)
    assert run.stats.stopped == "loss level reached"
    assert LONG[4] < run.ts[-1] < LONG[5]
    np.testing.assert_allclose(run.loss[-1], level, rtol=1e-9)
    np.testing.assert_array_equal(run.weights[0][:5], whole.weights[0][:5])


def test_more_saved_times_than_a_block():
    ts = np.linspace(0, 20, 141)
    run, few = events_run(small(), CUBE, ts), events_run(small(), CUBE, ts[::70])
    np.testing.assert_array_equal(run.ts, ts)
    assert oracles.distance([w[::70] for w in run.weights], few.weights) < 1e-12


def test_max_steps_says_where_and_what_to_do():
    with pytest.raises(
        UnfinishedError, match=r"the flow stopped at t = \S+ of 20 at rtol = 1e-08, after 20 steps"
    ):
        events_run(small(), CUBE, SHORT, max_steps=20)


@pytest.mark.parametrize("most", ["MOST_EVENTS", "MOST_AT_ONCE"])
def test_auto_changes_to_steps_when_there_are_too_many_events(most, monkeypatch):
    """Too many in all, or at one time."""
    network = small()
    assert bf.gradient_flow(network, CUBE, SHORT[:5]).stats.method == "events"
    monkeypatch.setattr(f"biasfree.dynamics._policy.{most}", 0)
    assert bf.gradient_flow(network, CUBE, SHORT[:5]).stats.method == "steps"


@pytest.mark.slow
def test_a_hundred_networks_on_six_points_do_not_stall():
    """Width 100, scale 1e-3, t = 900, as in TMLR Fig. 6: 50 balanced and 50 random seeds, each to the end."""
    ts = np.linspace(0, 900, 10)
    for seed in range(50):
        for init in (bf.networks.balanced, bf.networks.gaussian):
            network = init((2, 100, 1), scale=1e-3, seed=seed)
            run = events_run(network, SIX, ts)
            assert run.stats.stopped == "end of ts"
            assert (np.diff(run.loss) <= 1e-8).all()
            balance = np.sum(run.weights[0] ** 2, axis=2) - run.weights[1][:, 0] ** 2
            assert (
                np.abs(balance - balance[0]).max() < 1e-5
            )  # tens of local errors of 1e-9·|W|², |W|² of order 10
            if init is bf.networks.balanced:
                assert run.stats.branch_times == ()


def test_a_level_met_at_a_saved_time_is_saved_once():
    """Levels at which the time found differs from the saved one by rounding, and by nothing."""
    ts = np.linspace(0, 20, 41)
    whole = events_run(small(), CUBE, ts)
    for at in (3, 9, 12, 29):
        stopped = events_run(small(), CUBE, ts, until=whole.loss[at])
        assert stopped.stats.stopped == "loss level reached"
        # the bisection resolves 2^−50 of a step
        np.testing.assert_allclose(stopped.ts, ts[: at + 1], rtol=1e-12)


def test_a_flow_at_rest_reaches_any_end():
    """The fastest rate would limit plain steps even at rest, to some 10⁸; the last ones grow fivefold."""
    run = events_run(small(), CUBE, [0, 1e4, 1e8])
    assert run.stats.accepted < 20_000
    assert run.loss[2] <= run.loss[1] * (1 + 1e-12)


@pytest.mark.parametrize("factor", [1e-155, 1e-200, 1e-310])
def test_inputs_whose_squares_vanish_change_nothing(factor):
    data = bf.Dataset(factor * CUBE.x, CUBE.y)
    run = events_run(small(), data, [0, 1.0])
    np.testing.assert_allclose(run.loss, np.mean(CUBE.y**2) / 2, rtol=1e-12)
    linear = bf.gradient_flow(small(leak=1.0), data, [0, 1.0])
    np.testing.assert_allclose(linear.loss, np.mean(CUBE.y**2) / 2, rtol=1e-12)


@pytest.mark.parametrize("seed", [59, 134])
def test_a_hyperplane_that_is_no_way_out_does_not_end_every_step(seed):
    """Four samples lie in a plane, so that a neuron on two of their hyperplanes is on all four. One of them
    repels, and yet the neuron has to slide on: it is asked once, or the flow would not advance."""
    rng = np.random.default_rng(seed)
    p, q = rng.normal(size=(2, 3))
    data = bf.Dataset(np.vstack([p, q, p + q, p - q, rng.normal(size=3)]), rng.normal(size=5))
    network = bf.networks.gaussian((3, 8, 1), scale=0.1, seed=seed)
    run = bf.gradient_flow(network, data, [0, 20], method="events", rtol=1e-6, max_steps=400)
    assert run.stats.stopped == "end of ts"


def test_a_neuron_that_weak_forces_drive_into_a_hyperplane_slides_along_it():
    """At rest one side of a hyperplane exerts no force but that of the errors of steps: if it did not slide,
    the neuron would be back at once. Steps are then limited by the largest curvature only."""
    data, network = bf.data.six_points(0.1), bf.networks.gaussian((2, 10, 1), scale=0.1, seed=2)
    run = events_run(network, data, [0.0, 1280.0])
    w, a = (layer[-1] for layer in run.weights)
    z = w @ data.x.T
    active = (z > 1e-9).astype(float)
    slopes = np.vstack([np.repeat(a.T * active, 2, axis=0) * np.tile(data.x.T, (10, 1)), active * z])
    curvature = np.linalg.eigvalsh(slopes.T @ slopes / len(data.x))[-1]
    # an explicit method of order five is stable for steps up to 3.3/curvature; 2 for those it rejects
    assert run.stats.accepted < 1280 * curvature / 2


def linear(**given):
    return small(**(given | {"leak": 1.0}))


def three_layers(*, leak=0.1, scale=0.5, seed=0):
    return bf.networks.gaussian((3, 6, 6, 1), scale=scale, leak=leak, seed=seed)


@pytest.mark.parametrize("made", [linear, small, three_layers])
def test_other_numbers_do_not_compile_anew(made, count_compilations):
    """One program serves all numbers, and all shapes of one depth."""
    bf.gradient_flow(made(), CUBE, SHORT, until=0.1)
    more = oracles.random_data(11, 3, seed=1)

    def others():
        for change in ({"leak": 0.0}, {"scale": 1e-8}, {"seed": 1}):
            bf.gradient_flow(made(**change), CUBE, SHORT)
        bf.gradient_flow(made(), CUBE, SHORT, l2=0.1)
        bf.gradient_flow(made(), CUBE, SHORT, rtol=1e-6, until=0.2)
        for ts in (SHORT[1:] / 3, np.linspace(0, 1, 70)):
            bf.gradient_flow(made(), more, ts)

    assert count_compilations(others) == 0
