"""Trajectories: sequences of networks, linear maps, saving and loading."""

import json
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import booleans, floats, integers
from numpy.testing import assert_allclose, assert_array_equal

import biasfree as bf
from biasfree.trajectory import Factored, Stats
from refusals import invalid

per_example = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def trajectory(times=3, seed=0, leak=0.2, biased=False, **changes):
    rng = np.random.default_rng(seed)
    parts = {
        "ts": np.arange(times) / 2,
        "weights": (rng.normal(size=(times, 4, 2)), rng.normal(size=(times, 1, 4))),
        "loss": rng.uniform(size=times),
        "objective": rng.uniform(size=times),
        "leak": leak,
        "stats": Stats(method="test", events={"crossing": 2}, branch_times=(0.25,), rtol=1e-8),
        "biases": (rng.normal(size=(times, 4)), rng.normal(size=(times, 1))) if biased else None,
    }
    return bf.Trajectory(**{**parts, **changes})


def saving_run(times=3):
    return trajectory(
        times, weights=(), saved=np.arange(times) + 0.5, last=bf.networks.gaussian((2, 3, 1), scale=1.0)
    )


def same(one, two):
    assert one.stats == two.stats
    assert one.leak == two.leak
    for name in ("ts", "loss", "objective"):
        assert np.array_equal(getattr(one, name), getattr(two, name))
    for name in ("weights", "biases"):
        mine, other = (getattr(t, name) or () for t in (one, two))
        assert all(np.array_equal(a, b) for a, b in zip(mine, other, strict=True))


@given(times=integers(1, 5), seed=integers(0, 99), leak=floats(0, 1), biased=booleans())
@per_example
def test_file_round_trip(times, seed, leak, biased, tmp_path):
    run = trajectory(times, seed, leak, biased)
    run.save(tmp_path / "run.npz")
    same(bf.Trajectory.load(tmp_path / "run.npz"), run)


def test_a_run_that_saved_a_measurement_survives_a_file(tmp_path):
    run = saving_run()
    run.save(tmp_path / "run.npz")
    again = bf.Trajectory.load(tmp_path / "run.npz")
    same(again, run)
    assert again.saved is not None
    assert again.saved.tolist() == [0.5, 1.5, 2.5]
    assert np.array_equal(again[-1].weights[0], run[-1].weights[0])


def test_trajectories_and_records_can_be_sent_to_another_process():
    run = trajectory(biased=True)
    same(pickle.loads(pickle.dumps(run)), run)


def test_states_are_networks_in_order():
    run = trajectory(biased=True)
    assert len(run) == len(list(run)) == 3
    assert np.array_equal(run[1].weights[0], run.weights[0][1])
    assert run[1].biases is not None
    assert run.biases is not None
    assert np.array_equal(run[1].biases[1], run.biases[1][1])
    assert run[-1].leak == 0.2
    assert np.array_equal(run[-1].weights[1], run[2].weights[1])
    with pytest.raises(IndexError):
        run[3]
    for wrong in (slice(0, 1), "a", 1.0):
        with pytest.raises(
            TypeError, match=r"takes the number of one saved time, got .*; for several of them"
        ):
            run[wrong]


def test_map_adds_the_time_axis():
    run = trajectory()
    assert run.map(lambda network: network.norms).shape == (3, 2)
    assert_allclose(
        run.map(lambda network: network.norms[0]), np.linalg.norm(run.weights[0], axis=(1, 2)), rtol=1e-15
    )


def test_measurements_of_varying_shapes_are_refused():
    run, data = trajectory(), bf.Dataset(np.eye(2), np.ones(2))
    shapes = iter([(2,), (2,), (3,)])
    with pytest.raises(
        ValueError, match=r"measure must return arrays of one shape .*, got \(2,\) and \(3,\)"
    ):
        run.map(lambda _: np.zeros(next(shapes)))
    shapes = iter([(2,), (3,)])
    with pytest.raises(ValueError, match=r"save must return arrays of one shape .*, got \(2,\) and \(3,\)"):
        bf.gradient_flow(run[0], data, [0.0, 1.0], save=lambda _: np.zeros(next(shapes)))


def test_a_run_that_saved_a_measurement_knows_only_its_last_network():
    run = saving_run()
    assert run[2] is run[-1] is run.last
    with pytest.raises(ValueError, match=r"stored a measurement instead of weights .* without save="):
        run[0]
    invalid("stored a measurement", run.map, lambda network: network.norms)


def test_repr_summarizes_the_run():
    text = repr(trajectory(loss=[1, 0.5, 0.25]))
    assert text == "Trajectory(Network(2→4→1, leak=0.2), 3 times in [0, 1], loss 1 → 0.25, test: end of ts)"
    assert "2→3→1" in repr(saving_run())


def test_arrays_are_copied_and_read_only():
    kept = np.arange(3.0)
    run = trajectory(saved=kept)
    kept[0] = 99
    assert run.saved is not None
    assert run.saved[0] == 0
    for array in (run.ts, run.loss, run.objective, run.saved, *run.weights):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"loss": np.ones(2)}, r"one number per time, got 3 times and loss of shape \(2,\)"),
        ({"objective": np.ones((3, 2))}, r"one number per time, got 3 times and objective of shape \(3, 2\)"),
        ({"linear": np.ones((3, 2))}, r"one matrix per time, got 3 times and linear of shape \(3, 2\)"),
        ({"loss": 1.0}, r"got 3 times and loss of shape \(\)"),
        ({"weights": (np.ones((2, 4, 2)), np.ones((3, 1, 4)))}, r"W_1 of shape \(2, 4, 2\)"),
        ({"biases": (np.ones((2, 4)), np.ones((3, 1)))}, "b_1 of shape"),
        ({"saved": np.ones(4)}, r"saved of shape \(4,\)"),
        ({"weights": (np.ones((3, 4, 2)), np.ones((3, 1, 5)))}, "W_1 has 4 outputs but W_2 takes 5 inputs"),
        ({"weights": ()}, "without weights needs its last network"),
        ({"ts": [0, 2, 1]}, "strictly increasing"),
        ({"ts": []}, "at least one time"),
        ({"loss": [1, np.nan, 1]}, "loss must be finite"),
        ({"objective": [1, np.inf, 1]}, "objective must be finite"),
        ({"leak": 2.0}, "leak must lie in"),
        ({"stats": "done"}, "stats of a trajectory cannot be a str"),
        ({"weights": None}, "weights of a trajectory cannot be a NoneType"),
        ({"weights": (), "last": 3}, "last of a trajectory cannot be a int"),
    ],
)
def test_trajectories_refuse_bad_input(changes, message):
    invalid(message, trajectory, **changes)


def test_records_of_numpy_numbers_are_plain_and_survive_json():
    stats = Stats(
        method="flow",
        evaluations=np.int64(5),  # type: ignore[arg-type]
        events={"crossing": np.int32(3)},  # type: ignore[dict-item]
        branch_times=np.array([1.0, 2.0]),  # type: ignore[arg-type]
        error=np.float32(0.5),  # type: ignore[arg-type]
    )
    assert Stats.from_json(stats.to_json()) == stats
    assert stats.branch_times == (1.0, 2.0)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "{}",
        "[" * 100_000,
        '{"method": "a", "color": 1}',
        '{"method": 3}',
        '{"method": "a", "stopped": null}',
        '{"method": "a", "events": [1]}',
        '{"method": "a", "evaluations": 1e400}',
        '{"method": "a", "located": [["a"]]}',
    ],
    ids=range(11),
)
def test_unreadable_records_are_refused(text, tmp_path):
    invalid("statistics of the trajectory are not readable", Stats.from_json, text)
    trajectory().save(tmp_path / "a.npz")
    np.savez(tmp_path / "a.npz", **{**np.load(tmp_path / "a.npz"), "stats": text})
    with pytest.raises(
        ValueError, match=r"a\.npz does not contain a trajectory: the statistics .*; save it again"
    ):
        bf.Trajectory.load(tmp_path / "a.npz")


def test_a_file_of_other_arrays_under_the_same_names_is_no_trajectory(tmp_path):
    trajectory(times=2).save(tmp_path / "a.npz")
    np.savez(tmp_path / "a.npz", **{**np.load(tmp_path / "a.npz"), "loss": np.ones((2, 2, 2, 2))})
    with pytest.raises(
        ValueError, match=r"does not contain a trajectory: .* one number per time, got 2 times and"
    ):
        bf.Trajectory.load(tmp_path / "a.npz")


def factored(seed=0, times=4, leak=0.0):
    """W₁ = v rᵀ(t), W₂ = g(t) vᵀ as factors, and the same multiplied out."""
    rng = np.random.default_rng(seed)
    v, r, g = rng.normal(size=(1, 5, 1)), rng.normal(size=(times, 1, 3)), rng.normal(size=(times, 1, 1))
    layers = Factored((v, r), (g, v.swapaxes(1, 2)))
    ts, loss = np.arange(times), np.ones(times)
    full = (v * r, g * v.swapaxes(1, 2))
    return [bf.Trajectory(ts, w, loss, loss, leak, Stats("solved")) for w in (layers, full)]


def test_factors_are_the_weights_they_multiply_to():
    lazy, full = factored()
    assert len(lazy.weights) == 2
    for one, other in zip(lazy.weights, full.weights, strict=True):
        assert_allclose(one, other, rtol=1e-15)
        assert one.shape == other.shape
        assert not one.flags.writeable
    for one, other in zip(lazy, full, strict=True):
        assert_allclose(one.weights[0], other.weights[0], rtol=1e-15)
    assert_allclose(lazy.weights[-1], full.weights[-1], rtol=1e-15)
    assert len(lazy.weights[:1]) == 1


@pytest.mark.parametrize("second", [(4, 1, 5), (4, 4), (3, 1, 4), (1, 2, 5)])
def test_factors_that_do_not_fit_are_refused(second):
    """Checked when they are given, not only where they are multiplied."""
    with pytest.raises(ValueError, match=r"have no product at every time"):
        Factored((np.ones((1, 5, 1)), np.ones((4, 1, 3))), (np.ones(second), np.ones((1, 4, 5))))
    Factored((np.ones((1, 5, 1)), np.ones((4, 1, 3))), (np.ones((4, 1, 4)), np.ones((1, 4, 5))))


@pytest.mark.parametrize("leak", [0.0, 0.4, 1.0])
def test_maps_are_the_linear_part(leak):
    for trajectory in factored(leak=leak):
        x = np.random.default_rng(1).normal(size=(9, 3))
        expected = [bf.diagnostics.linear_map(network, x) for network in trajectory]
        assert trajectory.maps.shape == (4, 1, 3)
        assert_allclose(trajectory.maps[:, 0], expected, rtol=1e-12, atol=1e-13)


def test_a_solution_travels_through_a_file(tmp_path):
    lazy, _ = factored()
    known = bf.Trajectory(
        np.array([0, 1, 2, np.inf]),
        lazy.weights,
        lazy.loss,
        lazy.loss,
        0.0,
        Stats("solved"),
        linear=lazy.maps,
    )
    known.save(tmp_path / "a.npz")
    again = bf.Trajectory.load(tmp_path / "a.npz")
    assert again.ts[-1] == np.inf
    assert_array_equal(again.maps, lazy.maps)
    assert_array_equal(again.weights[0], lazy.weights[0])


def test_deep_nonlinear_networks_have_no_map_of_their_weights():
    network = bf.networks.gaussian((3, 4, 4, 1), scale=1.0)
    weights = tuple(w[None] for w in network.weights)
    trajectory = bf.Trajectory([0.0], weights, [1.0], [1.0], 0.0, Stats("by hand"))
    with pytest.raises(ValueError, match=r"depends on the samples.*linear_map"):
        _ = trajectory.maps
    linear = bf.Trajectory([0.0], weights, [1.0], [1.0], 1.0, Stats("by hand"))
    w1, w2, w3 = network.weights
    assert_allclose(linear.maps[0], w3 @ w2 @ w1, rtol=1e-13)


def test_only_the_last_time_may_be_infinite():
    lazy, _ = factored(times=2)
    for ts in ([np.inf, 1.0], [np.inf, np.inf], [np.nan, np.inf], [-np.inf, 1.0]):
        invalid("ts must", bf.Trajectory, ts, lazy.weights, [1, 1], [1, 1], 0.0, Stats("solved"))
    with pytest.raises(ValueError, match="ts must be finite"):
        bf.gradient_flow(bf.networks.gaussian((2, 3, 1), scale=1.0), bf.data.six_points(), [0, np.inf])


def test_map_trajectory():
    maps = np.random.default_rng(0).normal(size=(3, 2, 4))
    stats = Stats("linear_flow")
    one = bf.MapTrajectory([0, 1, np.inf], maps, [3.0, 2.0, 1.0], stats)
    assert len(one) == 3
    assert "4→2, 3 times in [0, inf]" in repr(one)
    assert_allclose(one.map(np.linalg.norm), np.linalg.norm(maps, axis=(1, 2)))
    invalid("one matrix per time", bf.MapTrajectory, [0, 1], maps, [3.0, 2.0], stats)


@pytest.mark.parametrize(
    ("ts", "loss", "times"),
    [
        # on straight lines between saved times, and the first of those at which the loss is
        ([0, 1, 3, 4], [1, 0.5, 0.5, 0.1], {2: 0, 1: 0, 0.75: 0.5, 0.5: 1, 0.3: 3.5, 0.1: 4, 0.05: np.inf}),
        ([0, 1, 2, 3], [1, 0.2, 1, 0], {0.5: 0.625, 0.1: 2.9}),
        # between a finite time and the limit nothing is known of when the loss falls
        ([0, 1, np.inf], [1, 0.5, 0], {0.75: 0.5, 0.5: 1, 0.25: np.inf, 0.0: np.inf}),
    ],
)
def test_time_of_a_level(ts, loss, times):
    runs = (
        trajectory(len(ts), ts=ts, loss=loss),
        bf.MapTrajectory(ts, np.ones((len(ts), 1, 2)), loss, Stats("a")),
    )
    for run in runs:
        assert [run.time_of(level) for level in times] == pytest.approx([*times.values()], rel=1e-15)


def test_time_of_several_levels_is_an_array():
    run = trajectory(3, ts=[0.0, 1.0, 2.0], loss=[1.0, 0.5, 0.0])
    assert run.time_of([1.0, 0.25, -1.0]).tolist() == [0, 1.5, np.inf]
    assert run.time_of(np.array([[1.0], [0.25]])).shape == (2, 1)
    assert run.time_of([]).shape == (0,)
    assert isinstance(run.time_of(np.float64(0.5)), float)


@given(times=integers(1, 12), seed=integers(0, 99), level=floats(-0.1, 1.1))
def test_before_the_time_of_a_level_the_loss_is_above_it(times, seed, level):
    run = trajectory(times, seed)
    t = run.time_of(level)
    if t == np.inf:
        assert run.loss.min() > level
        return
    assert (run.loss[run.ts < t - 1e-12] > level).all()
    # the loss at a time rounded to 1e-15 of itself, with slopes of at most 2
    assert np.interp(t, run.ts, run.loss) <= level + 1e-14 or t == run.ts[0]


@pytest.mark.parametrize("level", [np.nan, np.inf, "low", None, [0.1, np.nan]])
def test_time_of_refuses_what_is_no_level(level):
    invalid("level must", trajectory().time_of, level)


def test_a_trajectory_has_labels():
    data, network = bf.data.odd_sine(20, 3), bf.networks.gaussian((3, 4, 1), scale=0.1)
    run = bf.gradient_descent(network, data, step=0.1, steps=4)
    found = run.to_xarray()
    assert found["W1"].dims == ("t", "layer1", "layer0")
    assert found["W2"].dims == ("t", "layer2", "layer1")
    assert_array_equal(found["W1"].sel(t=run.ts[2]), run.weights[0][2])
    assert_array_equal(found["loss"], run.loss)
    assert (
        bf.Trajectory(run.ts, run.weights, run.loss, run.objective, 0.0, run.stats).to_xarray().equals(found)
    )
    assert json.loads(found.attrs["stats"])["method"] == run.stats.method
    saved = bf.gradient_descent(network, data, step=0.1, steps=4, save=lambda net: net.weights[0]).to_xarray()
    assert saved["saved"].dims == ("t", "saved_1", "saved_2")
    assert "W1" not in saved
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "W1" in repr(found)
