"""Exponential steps of a flow: their functions, their order, and what the steps of the loop find."""

import mpmath as mp
import numpy as np
import pytest

import biasfree as bf
import oracles
from biasfree.dynamics._problem import problem_of
from biasfree.dynamics.steps._exponential import _Step, phi
from biasfree.dynamics.steps._flow import Flow, Limits

POLICY = "biasfree.dynamics._policy"
TS = np.linspace(0, 10, 11)
DEEP = bf.networks.gaussian((3, 6, 6, 1), scale=1.0, seed=0)
DATA = oracles.random_data(12, 3, seed=0)


@pytest.fixture
def take(monkeypatch):
    """Has flows take exponential steps "always", or "never"."""

    def choose(when):
        monkeypatch.setattr(f"{POLICY}.STIFF", 0.0 if when == "always" else np.inf)
        monkeypatch.setattr(f"{POLICY}.STIFF_AFTER", (1, 1))
        monkeypatch.setattr(f"{POLICY}.DEAR_STEPS", 10**9)

    return choose


def exact_phi(k, z):
    """φ_k by its series, or by its recurrence where that loses none of the digits left."""
    if abs(z) < 60:
        return mp.fsum(z**j / mp.factorial(j + k) for j in range(300))
    found = mp.expm1(z) / z
    for j in range(1, k):
        found = (found - 1 / mp.factorial(j)) / z
    return found


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_phi_are_those_of_mpmath(k):
    sizes = np.concatenate([np.logspace(-12, np.log10(50), 60), np.linspace(0.9, 3, 20)])
    around = np.nextafter([1.0, 1.0, -1.0, -1.0], [0, 2, 0, -2])
    z = np.concatenate([-np.logspace(1, 6, 30), -sizes, sizes, around, [-1.0, 0.0, 1.0, 50.0]])
    with mp.workdps(50):
        exact = [float(exact_phi(k, mp.mpf(one))) for one in z]
    # from |z| = 1 on, each of three subtractions of the recurrence may lose up to a factor five: 100 ε
    np.testing.assert_allclose(phi(k, z), exact, rtol=100 * np.finfo(float).eps, atol=0)


def one_step(network, data, h, *, rtol, loss="square", l2=0.0):
    """The flow with an exponential step of length h under way, and that step."""
    problem = problem_of(network, data, loss=loss, l2=l2, train=None)
    flow = Flow(problem, 0, Limits(rtol, rtol, 1), smooth=True)
    flow.state.arrival[:] = flow.state.theta
    flow.state.status.length = flow.state.status.trial = h
    step = _Step(flow)
    step.attempt(h)
    assert flow.state.status.trial == h
    return flow, step


def linear_problem(loss):
    network = bf.networks.gaussian((3, 5, 4, 2), scale=1.5, leak=1.0, seed=2)
    return network, oracles.random_data(9, 3, outputs=2, labels=loss == "logistic", seed=1)


def reference(network, data, parts, h, loss, l2):
    found = oracles.flow(network, data, np.append(0.0, parts * h), kind=loss, l2=l2, rtol=1e-13)
    return np.concatenate([w.reshape(len(w), -1) for w in found], axis=1)[1:]


@pytest.mark.parametrize("l2", [0.0, 0.05])
@pytest.mark.parametrize("loss", ["square", "logistic"])
def test_a_step_has_order_four_and_its_estimate_is_an_upper_bound(loss, l2):
    """The error of one step falls as h⁵, and the estimate, an error of order three, as h⁴."""
    network, data = linear_problem(loss)
    lengths, parts = 0.1 * 0.5 ** np.arange(4), np.array([0.25, 0.5, 0.75, 1.0])
    errors, estimates = [], []
    for h in lengths:
        flow, step = one_step(network, data, h, rtol=1e-11, loss=loss, l2=l2)  # nothing outside the spans
        states = reference(network, data, parts, h, loss, l2)
        wrong = [flow.at(part) - state for part, state in zip(parts, states, strict=True)]
        errors.append(flow.error_of(wrong[-1]))
        estimates.append(step.error)
        assert max(map(flow.error_of, wrong)) <= step.error  # inside the step, too
    slope, estimated = (np.polyfit(np.log(lengths), np.log(each), 1)[0] for each in (errors, estimates))
    # O(h) beside the leading power, for lengths of a half to a twentieth of the fastest rate
    assert slope >= 4.5
    assert estimated == pytest.approx(4, abs=0.5)


def test_a_step_is_as_long_as_what_is_slow_allows():
    """Of one layer the flow is linear: with only its slowest rate left, a step of over a thousand times the
    fastest one is accurate."""
    data = oracles.random_data(9, 3, seed=1)
    data = bf.Dataset(data.x * [1.0, 30.0, 0.1], data.y)
    moments = data.x.T @ data.x / 9
    rates, modes = np.linalg.eigh(moments)
    end = np.linalg.solve(moments, data.x.T @ data.y / 9)
    flow, step = one_step(bf.Network(((end + modes[:, 0])[None],)), data, 10.0, rtol=1e-5)
    assert rates[-1] * 10 > 1000
    assert step.error <= 1
    # a tenth of rtol per step, and a fiftieth of that outside each span
    np.testing.assert_allclose(flow.at(1.0), end + np.exp(-10 * rates[0]) * modes[:, 0], rtol=0, atol=1e-7)


def error(*stats):
    """The sum of the errors of runs."""
    return sum(one.error or 0.0 for one in stats)


def growth(network, data, exact, **options):
    return oracles.growth(lambda one: bf.gradient_flow(one, data, exact.ts, **options), network, exact)


def check_against_the_loop(take, network, data, ts=TS, **options):
    """Flows by exponential steps and without them differ by their errors, as these grow."""
    take("never")
    plain = bf.gradient_flow(network, data, ts, **options)
    allowed = growth(network, data, plain, **options)
    take("always")
    run = bf.gradient_flow(network, data, ts, **options)
    assert run.stats.evaluations > 12 * run.stats.accepted  # 6 of a step of the loop
    assert oracles.distance(run, plain) <= allowed * error(run.stats, plain.stats)
    np.testing.assert_allclose(run.loss, [oracles.loss(n, data, options.get("loss", "square")) for n in run])
    return run, plain


@pytest.mark.parametrize("l2", [0.0, 0.01])
@pytest.mark.parametrize("widths", [(8,), (6, 6)])
def test_units_that_slide(widths, l2, take):
    for seed in (0, 1):
        network = bf.networks.gaussian((3, *widths, 1), scale=1.0, seed=seed)
        run, _ = check_against_the_loop(take, network, oracles.random_data(12, 3, seed=seed), l2=l2)
        assert run.stats.events["slides"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("l2", [0.0, 1e-3])
@pytest.mark.parametrize("widths", [(10, 10), (20, 20)])
def test_units_that_slide_in_wider_networks(widths, l2, take):
    network = bf.networks.gaussian((5, *widths, 1), scale=0.5, seed=0)
    check_against_the_loop(take, network, oracles.random_data(30, 5, seed=0), np.linspace(0, 10, 11), l2=l2)


def test_the_velocity_across_curved_hyperplanes_is_needed(take, monkeypatch):
    """Without it the error of a step is one of order two: many more steps."""
    take("always")
    steps = bf.gradient_flow(DEEP, DATA, TS).stats.accepted
    name = "biasfree.dynamics.steps._exponential._Step._change_across"
    monkeypatch.setattr(name, lambda step: np.zeros_like(step._velocity))
    assert bf.gradient_flow(DEEP, DATA, TS).stats.accepted > 1.5 * steps


def test_biases(take):
    check_against_the_loop(take, oracles.with_biases(DEEP), DATA, l2=0.01)


@pytest.mark.parametrize("train", [(True, True, False), (True, False, True), (False, True, True)])
def test_layers_that_are_not_trained(train, take):
    run, _ = check_against_the_loop(take, DEEP, DATA, train=train)
    fixed = run.weights[train.index(False)]
    assert (fixed == fixed[0]).all()


def test_several_outputs(take):
    network = bf.networks.gaussian((3, 6, 6, 2), scale=1.0, seed=3)
    check_against_the_loop(take, network, oracles.random_data(12, 3, outputs=2, seed=5))


@pytest.mark.parametrize("loss", ["logistic", "huber"])
def test_other_losses(loss, take):
    check_against_the_loop(take, DEEP, oracles.random_data(12, 3, labels=True, seed=5), loss=loss)


@pytest.mark.slow
def test_many_samples(take):
    network = bf.networks.gaussian((4, 20, 20, 1), scale=0.3, seed=3)
    take("always")
    data = oracles.random_data(2000, 4, seed=5)
    run = bf.gradient_flow(network, data, TS / 2, rtol=1e-5)
    take("never")
    plain = bf.gradient_flow(network, data, TS / 2, rtol=1e-5)
    allowed = growth(network, data, plain, rtol=1e-5)
    assert oracles.distance(run, plain) <= allowed * error(run.stats, plain.stats)


def test_levels_saved_times_and_measurements(take):
    """Levels are met inside steps, and states are saved inside them, without changing the flow."""
    take("never")
    plain = bf.gradient_flow(DEEP, DATA, TS)
    levels = [plain.loss[0] + part * (plain.loss[-1] - plain.loss[0]) for part in (0.5, 0.9)]
    reached = bf.gradient_flow(DEEP, DATA, TS, until=levels).stats.reached
    take("always")
    run = bf.gradient_flow(DEEP, DATA, TS)
    more = bf.gradient_flow(DEEP, DATA, np.linspace(0, 10, 101))
    for one, other in zip(oracles.arrays(run), oracles.arrays(more), strict=True):
        np.testing.assert_array_equal(one, other[::10])
    measured = bf.gradient_flow(DEEP, DATA, TS, save=lambda network: network(DATA.x))
    np.testing.assert_array_equal(measured.saved, run.map(lambda network: network(DATA.x)))
    ended = bf.gradient_flow(DEEP, DATA, TS, until=levels)
    # the errors of both in the weights, over the slowest rate of the loss at the levels, about 1/100
    np.testing.assert_allclose(ended.stats.reached, reached, rtol=100 * error(run.stats, plain.stats))
    assert ended.loss[-1] == pytest.approx(levels[-1], rel=1e-9)


def plateaus():
    """A linear target on whitened mirror pairs: a ReLU network of three layers learns it in two steps."""
    x = np.random.default_rng(0).normal(size=(40, 5))
    white = bf.data.whiten(bf.Dataset(np.vstack([x, -x]), np.zeros(80)))
    return bf.Dataset(white.x, white.x[:, 0])


def learned(scale, until):
    network = bf.networks.gaussian((5, 20, 20, 1), scale=scale, seed=1)
    return bf.gradient_flow(network, plateaus(), [0, 100 / scale], until=until).stats


def test_plateaus_take_few_steps_and_the_same_time(monkeypatch):
    scale, levels = 1e-4, [0.375, 0.125]
    few = learned(scale, levels)
    monkeypatch.setattr(f"{POLICY}.STIFF", np.inf)
    many = learned(scale, levels)
    assert few.evaluations < many.evaluations / 2
    # a change of the initial weights by an error changes the time of escape, about 1/γ, by as much
    np.testing.assert_allclose(few.reached, many.reached, rtol=error(few, many))


def test_the_cost_of_a_plateau_grows_slower_than_its_length():
    lengths, costs = [], []
    for scale in 10.0 ** -np.arange(2, 6):
        whole = learned(scale, [0.375, 0.125])
        lengths.append(whole.reached[1] - whole.reached[0])
        costs.append(whole.evaluations - learned(scale, 0.375).evaluations)
    assert np.polyfit(np.log(lengths), np.log(costs), 1)[0] <= 0.6  # of the loop it is 1
