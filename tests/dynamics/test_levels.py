"""Several loss levels in one run: `until=` takes a list, `stats.reached` has the time of each."""

from functools import cache

import numpy as np
import pytest

import biasfree as bf
import oracles

DATA = oracles.random_data(8, 3, seed=10)
SIX = bf.data.six_points(0.15)
TS = np.linspace(0, 20, 11)


def flow(method, **options):
    """A run of each method, long enough to lose half of the initial loss."""
    if method == "smooth":
        network, data, ts = bf.networks.balanced((3, 8, 1), scale=1.0, leak=1.0, seed=0), DATA, TS
    elif method == "events":
        network, data, ts = bf.networks.balanced((2, 20, 1), scale=0.1, seed=0), SIX, np.linspace(0, 300, 31)
    else:
        network, data, ts = bf.networks.balanced((3, 6, 6, 1), scale=1.5, seed=0), DATA, TS[:6]
    ts = options.pop("ts", ts)
    return bf.gradient_flow(network, data, ts, method=method, **options)


def descent(**options):
    network = bf.networks.balanced((2, 20, 1), scale=0.1, seed=0)
    options = {"step": 0.1, "steps": 800, "save_every": 100} | options
    return bf.gradient_descent(network, SIX, **options)


def error(run):
    """The error that a run reports, which those of this file always do."""
    assert run.stats.error is not None
    return run.stats.error


@cache
def whole_flow(method):
    """The run without levels, which the tests compare with."""
    return flow(method)


METHODS = pytest.mark.parametrize("method", ["smooth", "events", "steps"])


@METHODS
def test_the_time_at_each_level_is_that_of_a_run_with_this_level_alone(method):
    whole = whole_flow(method)
    high, low = (whole.loss[0] + fraction * (whole.loss[-1] - whole.loss[0]) for fraction in (0.3, 0.8))
    run, alone = flow(method, until=[low, high]), [flow(method, until=level) for level in (low, high)]
    assert run.stats.stopped == "loss level reached"
    assert run.stats.reached[0] == run.ts[-1]
    # Every level ends a step of the adaptive methods, and steps are halved as often as the whole path needs:
    # the runs differ by their errors in the weights, the times by these over the rate of the loss.
    rtol = 100 * max(map(error, (run, *alone)))
    np.testing.assert_allclose(run.stats.reached, [one.ts[-1] for one in alone], rtol=rtol)
    np.testing.assert_allclose(run.loss[-1], low, rtol=1e-9)  # bisected to 2⁻⁵⁰ of a step


@METHODS
def test_the_loss_at_the_time_of_a_level_is_that_level(method):
    whole = whole_flow(method)
    levels = whole.loss[0] + np.array([0.2, 0.4, 0.6]) * (whole.loss[-1] - whole.loss[0])
    run = flow(method, until=levels)
    again = flow(method, ts=np.array(run.stats.reached))
    # two runs within their errors; the loss changes by a few times as much as the weights do
    np.testing.assert_allclose(again.loss, levels, rtol=20 * (error(run) + error(again)))


@METHODS
def test_one_level_in_a_list_is_that_level(method):
    whole = whole_flow(method)
    level = float(whole.loss[len(whole) // 2])
    number, several = flow(method, until=level), flow(method, until=[level])
    for one, other in zip(number.weights, several.weights, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(number.ts, several.ts)
    assert number.stats.reached == several.stats.reached
    assert number.stats.reached == pytest.approx((number.ts[-1],), rel=1e-12)  # a saved time, to rounding


@METHODS
def test_levels_above_the_initial_loss_are_reached_at_once(method):
    whole = whole_flow(method)
    level = float(whole.loss[0] + whole.loss[-1]) / 2
    run, alone = flow(method, until=[100.0, level, 200.0]), flow(method, until=level)
    assert run.stats.reached == (0.0, alone.ts[-1], 0.0)
    for one, other in zip(run.weights, alone.weights, strict=True):
        np.testing.assert_array_equal(one, other)
    at_once = flow(method, until=[100.0, 200.0], ts=np.array([1.0, 2.0]))
    assert at_once.ts.tolist() == [0.0]
    assert at_once.stats.stopped == "loss level reached"


@METHODS
def test_levels_that_are_not_reached_have_infinite_times(method):
    whole = whole_flow(method)
    level = float(whole.loss[0] + whole.loss[-1]) / 2
    run = flow(method, until=[1e-300, level])
    assert run.stats.stopped == "end of ts"
    assert run.stats.reached[0] == np.inf
    assert 0 < run.stats.reached[1] < run.ts[-1]
    np.testing.assert_array_equal(run.ts, whole.ts)
    assert oracles.distance(run, whole) <= 10 * (error(run) + error(whole))


@METHODS
def test_a_level_at_a_saved_time(method):
    whole = whole_flow(method)
    run = flow(method, until=[whole.loss[2], whole.loss[4]])
    np.testing.assert_allclose(run.stats.reached, whole.ts[[2, 4]], rtol=100 * error(run))
    np.testing.assert_array_equal(run.ts[:4], whole.ts[:4])


def test_equal_levels_have_one_time():
    run = flow("smooth", until=[0.4, 0.5, 0.4, 0.5])
    assert run.stats.reached[:2] == run.stats.reached[2:]
    assert run.stats.reached[1] < run.stats.reached[0] == run.ts[-1]


def test_levels_that_rounding_cannot_separate():
    level = 0.4
    run = flow("smooth", until=[level, np.nextafter(level, 1)])
    assert run.stats.stopped == "loss level reached"
    one, other = run.stats.reached
    np.testing.assert_allclose(one, other, rtol=1e-13)


def test_a_run_without_levels_reached_none():
    assert flow("smooth").stats.reached == ()
    assert descent().stats.reached == ()


def test_a_list_of_networks_has_a_time_per_level_and_network():
    networks = [bf.networks.balanced((3, 8, 1), scale=scale, leak=1.0, seed=0) for scale in (1.0, 0.5)]
    for run in bf.gradient_flow(networks, DATA, TS, until=[0.4, 0.5]):
        assert 0 <= run.stats.reached[1] < run.stats.reached[0] == run.ts[-1]
    runs = bf.gradient_descent(networks, DATA, step=0.05, steps=400, until=[0.4, 0.5])
    assert all(0 <= run.stats.reached[1] < run.stats.reached[0] for run in runs)


@pytest.mark.parametrize("save_every", [1, 7, 800])
def test_descent_has_the_first_step_at_each_level(save_every):
    every = descent(save_every=1)
    levels = [float(every.loss[300] + every.loss[301]) / 2, float(every.loss[500]), 1e3, 1e3]
    run = descent(save_every=save_every, until=levels)
    assert run.stats.stopped == "loss level reached"
    first = np.array([np.argmax(every.loss <= level) for level in levels])
    assert run.stats.accepted == first[1]
    np.testing.assert_array_equal(run.stats.reached, 0.1 * first)
    expected = sorted({*range(0, first[1], save_every), int(first[1])})
    np.testing.assert_array_equal(run.ts, 0.1 * np.array(expected))
    np.testing.assert_array_equal(run.weights[0], every.weights[0][expected])  # levels do not change steps


def test_descent_with_a_level_that_it_reaches_at_the_last_step_or_not_at_all():
    every = descent(save_every=1, steps=300)
    assert (every.loss[:-1] > every.loss[-1]).all()
    run = descent(steps=300, until=[float(every.loss[-1]), 1e-300])
    assert run.stats.reached == (0.1 * np.argmax(every.loss <= every.loss[-1]), np.inf)
    assert run.stats.stopped == "steps done"
    assert descent(steps=300, until=[float(every.loss[-1])]).stats.stopped == "loss level reached"


def test_a_record_with_levels_is_written_and_read():
    stats = flow("smooth", until=[0.1, 1e-300]).stats
    assert bf.trajectory.Stats.from_json(stats.to_json()) == stats


@pytest.mark.parametrize(
    ("until", "message"),
    [
        ([], "until must be a loss level or a list of them, got an empty list"),
        ([0.1, 0.0], r"until\[1\] must be positive, got 0"),
        ([0.1, None], r"until\[1\] must be a number, got None"),
        ([0.1, np.nan], r"until\[1\] must be finite"),
        ("low", "until must be a loss level or a list of them, got 'low'"),
        (0.0, "until must be positive, got 0"),
        ({"low": 1}, "until must be a number"),
        (np.ones((2, 2)), r"until\[0\] must be a number"),
    ],
)
def test_wrong_levels_are_refused(until, message):
    with pytest.raises(ValueError, match=message):
        flow("smooth", until=until)
    with pytest.raises(ValueError, match=message):
        descent(until=until)
