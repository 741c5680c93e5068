"""Deep flows in which many units pass their hyperplanes at once: steps that are corrected."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import biasfree as bf
import oracles
from biasfree.dynamics._levels import NO_LEVEL
from biasfree.dynamics.flow._flow import Limits
from biasfree.dynamics.flow.events import _event_flow, _passing
from biasfree.dynamics.flow.native._loop import Code

TS = np.linspace(0, 4, 5)
flow = partial(bf.gradient_flow, method="events")


def problem(seed, *, leak=0.0, loss="square", biased=False, samples=200, outputs=1):
    """A network of three layers on samples in general position, and its data."""
    data = oracles.random_data(samples, 3, outputs=outputs, labels=loss == "logistic", seed=seed)
    network = bf.networks.gaussian((3, 12, 10, outputs), scale=1.5, seed=seed, leak=leak)
    return (oracles.with_biases(network, seed=seed) if biased else network), data


def located(network, data, ts, **options):
    """The flow with every kink located."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_passing, "SOME", 10**9)
        return flow(network, data, ts, **options)


def growth_of_errors(network, data, ts, exact, **options):
    """The largest factor by which a small change of the initial weights grows along the path."""
    return oracles.growth(lambda other: located(other, data, ts, **options), network, exact)


@settings(deadline=None, max_examples=8)
@given(
    seed=st.integers(0, 2**31),
    leak=st.sampled_from([0.0, 0.3]),
    loss=st.sampled_from(["square", "logistic"]),
    biased=st.booleans(),
)
def test_corrected_steps_are_the_flow_through_located_kinks(seed, leak, loss, biased):
    network, data = problem(seed, leak=leak, loss=loss, biased=biased)
    exact = located(network, data, TS, loss=loss, rtol=1e-7)
    run = flow(network, data, TS, loss=loss, rtol=1e-3)
    assert run.stats.events["crossings"] < exact.stats.events["crossings"]
    # the errors of steps sum up to `stats.error`, and grow along the path meanwhile: up to three times as
    # much as two random changes of all the weights, which have little of the direction that grows most
    error = (run.stats.error or 0.0) * growth_of_errors(network, data, TS, exact, loss=loss, rtol=1e-6)
    assert oracles.distance(run, exact) <= 3 * error


@pytest.mark.parametrize(("leak", "biased", "outputs", "l2"), [(0.0, False, 1, 0.0), (0.3, True, 2, 0.1)])
def test_what_a_correction_leaves_falls_with_the_third_power_of_the_length(leak, biased, outputs, l2):
    """Without it the error falls with the second. Lengths are halved twice; which kinks fall into a step is
    chance, so that a sum over several networks is compared."""
    lengths = np.array([0.08, 0.04, 0.02])
    errors = np.zeros((2, 3))
    for seed in range(4):
        network, data = problem(seed, leak=leak, biased=biased, outputs=outputs)
        exact = located(network, data, np.append(0, lengths[::-1]), l2=l2, rtol=1e-9)
        for i, length in enumerate(lengths):
            end, corrected = _one_step(network, data, length, l2)
            truth = _vector(exact, -1 - i)
            errors[:, i] += np.linalg.norm(end - truth), np.linalg.norm(corrected - truth)
    plain, left = errors
    assert left[-1] < plain[-1] / 8
    assert plain[0] / plain[2] < 32  # second order: 16
    assert left[0] / left[2] > 32  # third order: 64


def _one_step(network, data, length, l2):
    """The end of one step of this length, and its correction."""
    limits = Limits(1.0, 1.0, 10)
    one = _passing.PassingFlow(
        network, data, limits, most_events=None, loss="square", l2=l2, train=(True,) * 3
    )
    ts = np.array([length])
    ts.flags.writeable = False  # as flows have them: native code is compiled for each kind of array
    one.state.status.length = length
    assert one._run(one.saves(ts), NO_LEVEL, most=1) == Code.PENDING
    return one._at(1.0), one._corrected(1.0, np.inf)[0].theta


def _vector(run, i):
    biases = run.biases or [np.zeros((len(run.weights[0]), 0))] * len(run.weights)
    pairs = zip(run.weights, biases, strict=True)
    return np.concatenate([part[i].ravel() for pair in pairs for part in pair])


def test_saved_times_are_the_ends_of_corrected_steps():
    (network, data), ts = problem(3), np.linspace(0, 4, 41)
    run, exact = flow(network, data, ts, rtol=1e-2), located(network, data, ts, rtol=1e-7)
    growth = growth_of_errors(network, data, ts, exact, rtol=1e-6)
    assert oracles.distance(run, exact) <= growth * (run.stats.error or 0.0)
    # a state that lacks the correction would be off by more than all corrected steps together
    losses = [np.mean((net(data.x).ravel() - data.y.ravel()) ** 2) / 2 for net in run]
    np.testing.assert_allclose(run.loss, losses, rtol=1e-12)


def test_a_level_of_the_loss_is_located_between_corrected_steps():
    (network, data), ts = problem(4), np.array([0.0, 3.99, 4.0, 8.0])
    exact = located(network, data, ts, rtol=1e-7)
    run = flow(network, data, [0.0, 8.0], rtol=1e-3, until=float(exact.loss[2]))
    assert run.stats.stopped == "loss level reached"
    assert run.loss[-1] == pytest.approx(exact.loss[2], rel=1e-8)  # bisected, and not corrected afterwards
    # |dL| ≤ |∇L||dW| and dL/dt = −|∇L|², so that an error dW of the weights moves the time by |dW|/|∇L|
    speed = oracles.distance([w[1:2] for w in exact.weights], [w[2:3] for w in exact.weights]) / 0.01
    growth = growth_of_errors(network, data, ts, exact, rtol=1e-6)
    assert abs(run.ts[-1] - 4.0) <= growth * (run.stats.error or 0.0) / speed


def test_corrected_flows_have_the_same_bits_alone_twice_and_in_a_list():
    networks = [problem(seed)[0] for seed in range(3)]
    data = problem(0)[1]
    runs = flow(networks, data, TS, rtol=1e-3)
    for network, run in zip(networks, runs, strict=True):
        again = flow(network, data, TS, rtol=1e-3)
        assert all((a == b).all() for a, b in zip(run.weights, again.weights, strict=True))


def test_units_that_slide_are_located_among_many_that_pass():
    """As the number of slides shows; a unit that slid without a constraint would cross again and again."""
    network, data = problem(0)
    exact, run = (kind(network, data, [0.0, 20.0], rtol=1e-4) for kind in (located, flow))
    assert exact.stats.events["slides"] > 10
    assert run.stats.events["slides"] >= exact.stats.events["slides"] / 2
    assert run.stats.events["crossings"] < exact.stats.events["crossings"]


def test_the_loss_never_rises():
    network, data = problem(5)
    run = flow(network, data, np.linspace(0, 10, 101), rtol=1e-4)
    assert (np.diff(run.loss) <= 1e-4 * run.loss[0]).all()  # rtol in the weights


def test_auto_follows_any_number_of_units_at_the_tolerance_of_steps(monkeypatch):
    network, data = problem(6)
    monkeypatch.setattr(_event_flow, "MANY_UNITS", 10)
    run = bf.gradient_flow(network, data, TS)
    assert (run.stats.method, run.stats.rtol) == ("events", 1e-4)
    assert oracles.distance(run, flow(network, data, TS, rtol=1e-4)) == 0
