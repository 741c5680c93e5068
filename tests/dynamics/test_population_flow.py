"""Gradient flow and descent on infinite data, against samples, SciPy, finite differences and theory."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import floats, integers, sampled_from
from scipy.integrate import solve_ivp

import biasfree as bf
from biasfree.data import Population
from biasfree.dynamics.population._field import PopulationField

SIGMA = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.2], [0.0, 0.2, 0.7]])
LINEAR = [0.3, -0.4, 0.5]
BOTH = (True, True)


def teacher_of(d, seed=3, leak=0.2):
    return bf.networks.gaussian((d, 4, 1), scale=1.5, leak=leak, seed=seed)


POPULATIONS = {
    "white": Population(3, linear=LINEAR, odd=([1, 0, 1], np.tanh)),
    "correlated": Population(3, covariance=SIGMA, linear=LINEAR, teacher=teacher_of(3), noise=0.3),
    "sphere": Population(3, radius=1.7, teacher=[teacher_of(3), teacher_of(3, 5, 0.0)]),
    "many dimensions": Population(40, covariance=1.7, linear=np.linspace(-1, 1, 40), teacher=teacher_of(40)),
}


def student_of(population, width=5, *, leak=0.1, scale=1.0, seed=0):
    return bf.networks.gaussian((population.dimensions, width, 1), scale=scale, leak=leak, seed=seed)


def field_of(network, population, **how):
    return PopulationField(network, population, **dict[str, Any](l2=0.0, train=BOTH) | how)


@pytest.mark.parametrize("name", POPULATIONS)
@pytest.mark.parametrize("leak", [0.0, 0.3, 1.0])
def test_the_loss_is_that_of_many_samples(name, leak):
    """Within five standard errors of 200 000 samples."""
    population, n = POPULATIONS[name], 200_000
    network = student_of(population, leak=leak)
    data = population.sample(n, seed=11)
    each = (data.y - network(data.x)) ** 2 / 2
    field = field_of(network, population)
    assert abs(field(field.initial).loss - each.mean()) <= 5 * each.std() / np.sqrt(n)


@pytest.mark.parametrize("name", POPULATIONS)
@pytest.mark.parametrize("leak", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("width", [1, 2, 5, 17])
def test_the_velocity_is_the_slope_of_the_loss(name, leak, width):
    """Central differences of step 1e-5 err by 1e-10 of the curvature's change, and by 1e-11 of rounding."""
    population = POPULATIONS[name]
    field = field_of(student_of(population, width, leak=leak), population)
    slope = field(field.initial)
    rng = np.random.default_rng(0)
    for direction in rng.normal(size=(6, len(field.initial))):
        direction /= np.linalg.norm(direction)
        up, down = (field(field.initial + sign * 1e-5 * direction).loss for sign in (1, -1))
        assert abs((up - down) / 2e-5 + slope.velocity @ direction) <= 1e-8 * (1 + slope.loss)


@settings(deadline=None, max_examples=40)
@given(
    leak=floats(0, 1),
    sign=sampled_from([1, -1]),
    apart=sampled_from([0.0, 1e-300, 1e-12, 1e-8, 1e-4]),
    size=sampled_from([1.0, 1e-150, 1e150]),
    seed=integers(0, 2**31),
)
def test_parallel_opposite_tiny_and_zero_neurons(leak, sign, apart, size, seed):
    """Finite everywhere; neurons of one direction act as one neuron to rounding."""
    rng = np.random.default_rng(seed)
    w, population = rng.normal(size=3), Population(3, linear=rng.normal(size=3), teacher=teacher_of(3))
    first = np.stack([size * w, sign * (w + apart * rng.normal(size=3)), np.zeros(3), w])
    network = bf.Network((first, [[1 / size, 0.5, 0.7, -0.2]]), leak=leak)
    field = field_of(network, population)
    slope = field(field.initial)
    assert np.isfinite(slope.velocity).all()
    assert slope.loss > 0
    merged = bf.Network((np.stack([w, sign * w]), [[0.8, 0.5]]), leak=leak)
    other = field_of(merged, population)
    close = other(other.initial).loss
    assert slope.loss == pytest.approx(close, rel=1e-13 + 20 * apart)


def test_descent_of_a_neuron_at_zero_follows_the_leak():
    """ẇ = αaE[ex] at w = 0, on infinite data and on samples."""
    population = Population(2, linear=[1.0, 2.0])
    for leak in (0.0, 0.4):
        network = bf.Network(([[0.0, 0.0]], [[1.0]]), leak=leak)
        run = bf.gradient_descent(network, population, step=0.1, steps=1)
        np.testing.assert_allclose(run[-1].weights[0], [[0.1 * leak, 0.2 * leak]], atol=1e-15)
        sampled = bf.gradient_descent(network, population.sample(100), step=0.1, steps=1)
        assert (sampled.weights[0][-1] != 0).any() == (leak > 0)


@pytest.mark.parametrize("leak", [0.0, 0.4])
def test_flow_leaves_zero_where_a_neuron_can_grow(leak):
    """y = w·x: from w = 0, a = ±1 the steepest direction is ±w; the flow is not unique there, and says so."""
    population = Population(2, covariance=1.5, linear=[1.0, 2.0])
    for sign in (1.0, -1.0):
        network = bf.Network(([[0.0, 0.0]], [[sign]]), leak=leak)
        run = bf.gradient_flow(network, population, [0.0, 0.5])
        assert run.stats.branch_times == (0.0,)
        assert run.stats.events == {"rests": 1, "leaves": 1}
        assert not run.weights[0][0].any()
        first = run.weights[0][1, 0]
        np.testing.assert_allclose(
            first / np.linalg.norm(first), sign * np.array([1, 2]) / np.sqrt(5), atol=1e-6
        )
        nearby = bf.Network((sign * 1e-9 * np.array([[1.0, 2.0]]), [[sign]]), leak=leak)
        beside = bf.gradient_flow(nearby, population, [0.0, 0.5])
        np.testing.assert_allclose(first, beside.weights[0][1, 0], atol=1e-7)


def test_a_neuron_that_cannot_grow_comes_to_rest_at_zero():
    """y = −σ(v·x) − |x₁|/2 and a > 0: every direction shrinks. |a|² − |w|² is conserved; descent agrees."""
    target = bf.Network(([[1.0, 0.5], [1.0, 0.0], [-1.0, 0.0]], [[-1.0, -0.5, -0.5]]), leak=0.0)
    population = Population(2, covariance=[[1.0, 0.3], [0.3, 1.0]], teacher=target)
    network = bf.Network(([[0.3, -0.1]], [[0.5]]))
    run = bf.gradient_flow(network, population, [0.0, 1.0, 20.0])
    assert run.stats.events == {"rests": 1}
    assert not run[-1].weights[0].any()
    assert run[-1].weights[1][0, 0] == pytest.approx(np.sqrt(0.25 - 0.1), abs=1e-7)
    assert run.loss[-1] == pytest.approx(population.mean_square / 2, rel=1e-12)
    descent = bf.gradient_descent(network, population, step=1e-3, steps=1000)
    np.testing.assert_allclose(run[1].weights[1], descent[-1].weights[1], atol=2e-3)
    np.testing.assert_allclose(run[1].weights[0], descent[-1].weights[0], atol=2e-3)


def test_a_student_whose_neurons_rest_learns_its_teacher():
    """A negative neuron rests, later leaves; the flow stays near descent of small steps, and is fast."""
    population = Population(10, teacher=bf.Network((np.eye(2, 10), [[1.0, 1.0]])))
    network = bf.networks.gaussian((10, 4, 1), scale=1e-3, seed=0)
    run = bf.gradient_flow(network, population, [0.0, 15.0, 300.0])
    assert run.stats.events["rests"] >= 1
    assert run.stats.accepted < 1500
    descent = bf.gradient_descent(network, population, step=2e-3, steps=7500, save_every=7500)
    assert run.loss[1] == pytest.approx(descent.loss[-1], rel=2e-2)
    assert run.loss[2] < 1e-4


@pytest.mark.parametrize("name", POPULATIONS)
def test_the_flow_is_that_of_another_integrator(name):
    """SciPy's RK45 at 1e-11 on the field of the full space, saved between and at steps."""
    population, ts = POPULATIONS[name], np.linspace(0, 4, 23)
    network = student_of(population, scale=0.5)
    run = bf.gradient_flow(network, population, ts, rtol=1e-9)
    field = field_of(network, population)
    found = solve_ivp(
        lambda _, y: field(y).velocity, (0, 4), field.initial, t_eval=ts, rtol=1e-11, atol=1e-13
    ).y.T
    first, second = field.layers(found)
    if field.basis is not None:
        first = first @ field.basis.T
    sizes = [float(np.linalg.norm(part[-1])) for part in (first, second)]
    error = 20 * 1e-9  # the local errors are at most 1e-10 per step, and grow with the flow
    np.testing.assert_allclose(run.weights[0], first, rtol=0, atol=error * sizes[0])
    np.testing.assert_allclose(run.weights[1][:, 0], second, rtol=0, atol=error * sizes[1])
    assert run.stats.error is not None
    assert 0 < run.stats.error < 1e-8
    assert (np.diff(run.loss) <= 0).all()


def test_descent_is_the_iteration_and_small_steps_are_the_flow():
    population = POPULATIONS["correlated"]
    network, field = student_of(population), field_of(student_of(population), population)
    run = bf.gradient_descent(network, population, step=0.05, steps=7, save_every=3)
    np.testing.assert_allclose(run.ts, [0, 0.15, 0.3, 0.35], rtol=1e-14)
    theta = field.initial
    for _ in range(7):
        theta = theta + 0.05 * field(theta).velocity
    np.testing.assert_allclose(run.weights[0][-1], field.layers(theta)[0], rtol=1e-14)
    assert run.loss[-1] == pytest.approx(field(theta).loss, rel=1e-14)
    flow = bf.gradient_flow(network, population, [0.0, 1.0])
    gaps = [
        np.abs(bf.gradient_descent(network, population, step=h, steps=round(1 / h)).weights[0][-1]
               - flow.weights[0][-1]).max()
        for h in (0.02, 0.01)
    ]  # fmt: skip
    assert gaps[0] / gaps[1] == pytest.approx(2, rel=0.1)  # first order


def test_one_step_on_many_samples_is_one_step_on_the_population():
    """The step of each weight within six standard errors of its mean over 100 000 samples."""
    population, n, h = POPULATIONS["sphere"], 100_000, 0.1
    network = student_of(population)
    step = bf.gradient_descent(network, population, step=h, steps=1)
    data = population.sample(n, seed=5)
    (first, second), z = network.weights, data.x @ network.weights[0].T
    slopes, residual = np.where(z > 0, 1.0, network.leak), data.y - network(data.x)
    inner = residual[:, None, None] * (slopes * second)[:, :, None] * data.x[:, None, :]
    moved = (step.weights[0][-1] - first) / h
    assert (np.abs(moved - inner.mean(axis=0)) <= 6 * inner.std(axis=0) / np.sqrt(n)).all()
    outer = residual[:, None] * slopes * z
    moved = (step.weights[1][-1] - second)[0] / h
    assert (np.abs(moved - outer.mean(axis=0)) <= 6 * outer.std(axis=0) / np.sqrt(n)).all()


def test_l2_and_fixed_layers():
    population = POPULATIONS["correlated"]
    network = student_of(population)
    fixed = bf.gradient_flow(network, population, [0.0, 1.0], train=(False, True))
    np.testing.assert_array_equal(fixed.weights[0][1], network.weights[0])
    assert (fixed.weights[1][1] != network.weights[1]).all()
    decayed = bf.gradient_flow(network, Population(3, covariance=SIGMA), [0.0, 0.0 + 1e-3], l2=2.0)
    assert decayed.objective[0] == pytest.approx(decayed.loss[0] + float(np.sum(network.norms**2)), rel=1e-14)
    field, free = (field_of(network, population, l2=l2) for l2 in (2.0, 0.0))
    lost = free(free.initial).velocity - field(field.initial).velocity
    np.testing.assert_allclose(lost, 2 * field.initial, rtol=0, atol=1e-13)


def test_many_dimensions_cost_what_the_span_does():
    """In 10⁵ dimensions the field has H + M + 1 columns, and the run is that of the small problem."""
    small = Population(8, linear=np.eye(8)[0], teacher=bf.networks.gaussian((8, 2, 1), scale=1.0, seed=2))
    teacher, network = small.teacher[0], bf.networks.gaussian((8, 4, 1), scale=0.3, seed=1)
    d, axes = 100_000, np.arange(0, 800, 100)

    def embedded(rows):
        wide = np.zeros((len(rows), d))
        wide[:, axes] = rows
        return wide

    wide_teacher = bf.Network((embedded(teacher.weights[0]), teacher.weights[1]), leak=teacher.leak)
    wide = Population(d, linear=embedded(np.eye(8)[:1])[0], teacher=wide_teacher)
    start = bf.Network((embedded(network.weights[0]), network.weights[1]))
    assert field_of(start, wide).columns == 7
    ts = [0.0, 1.0, 3.0]
    one, other = bf.gradient_flow(start, wide, ts), bf.gradient_flow(network, small, ts)
    np.testing.assert_allclose(one.loss, other.loss, rtol=1e-9)
    first = one[-1].weights[0]
    np.testing.assert_allclose(first[:, axes], other.weights[0][-1], rtol=0, atol=1e-8)
    assert np.linalg.norm(first) == pytest.approx(np.linalg.norm(other.weights[0][-1]), rel=1e-8)


def test_save_measures_networks_of_the_original_inputs():
    population = POPULATIONS["many dimensions"]
    network = student_of(population)
    run = bf.gradient_flow(network, population, [0.0, 1.0], save=lambda net: net.weights[0])
    full = bf.gradient_flow(network, population, [0.0, 1.0])
    assert run.saved is not None
    np.testing.assert_array_equal(run.saved, full.weights[0])
    np.testing.assert_array_equal(run[-1].weights[0], full[-1].weights[0])
    np.testing.assert_allclose(full[0].weights[0], network.weights[0], rtol=0, atol=1e-14)


def test_levels_stop_the_flow_and_the_descent():
    population = POPULATIONS["white"]
    network = student_of(population, 20, leak=0.0, scale=0.1)
    free = bf.gradient_flow(network, population, np.linspace(0, 40, 4001))
    levels = [free.loss[0] * 0.5, free.loss[-1] + 0.02, free.loss[0] * 0.9]
    run = bf.gradient_flow(network, population, [0.0, 1.0, 40.0], until=levels)
    assert run.stats.stopped == "loss level reached"
    assert run.loss[-1] == pytest.approx(levels[1], rel=1e-12)
    assert run.ts[-1] == run.stats.reached[1]
    np.testing.assert_allclose(run.stats.reached, [free.time_of(level) for level in levels], atol=1e-4)
    descent = bf.gradient_descent(network, population, step=0.01, steps=10_000, until=levels[1])
    assert descent.stats.stopped == "loss level reached"
    assert descent.loss[-1] <= levels[1]
    assert bf.gradient_flow(network, population, [1.0], until=1e9).ts == [0.0]
    missed = bf.gradient_flow(network, population, [0.0, 1.0], until=1e-9)
    assert missed.stats.reached == (np.inf,)


def test_lists_are_single_runs():
    population = POPULATIONS["white"]
    networks = [student_of(population, seed=seed) for seed in (1, 2)]
    runs = bf.gradient_flow(networks, population, [0.0, 1.0])
    both = bf.gradient_flow(networks, [population, POPULATIONS["correlated"]], [0.0, 1.0])
    for i in range(2):
        one = bf.gradient_flow(networks[i], population, [0.0, 1.0])
        np.testing.assert_array_equal(runs[i].weights[0], one.weights[0])
    assert both[1].loss[0] != runs[1].loss[0]
    assert len(bf.gradient_descent(networks, population, step=0.1, steps=2)) == 2


def test_a_teacher_is_learned_by_its_own_weights_and_stays():
    teacher = teacher_of(5, leak=0.0)
    population = Population(5, teacher=teacher)
    run = bf.gradient_flow(teacher, population, [0.0, 100.0])
    assert run.loss.max() <= 1e-14 * population.mean_square
    np.testing.assert_allclose(run[-1].weights[0], teacher.weights[0], rtol=0, atol=1e-8)  # the flow's rtol


POPULATION = Population(3, linear=LINEAR)
NETWORK = student_of(POPULATION)
DEEP = bf.networks.gaussian((3, 2, 2, 1), scale=1.0)
TWO = bf.networks.gaussian((3, 2, 2), scale=1.0)
BIASED = bf.Network(NETWORK.weights, biases=(np.zeros(5), np.zeros(1)))
OTHER = bf.networks.gaussian((2, 2, 1), scale=1.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bf.gradient_flow(DEEP, POPULATION, [1.0]), r"two layers, got .*population\.sample\(n, seed"),
        (lambda: bf.gradient_flow(TWO, POPULATION, [1.0]), r"one output, got .*population\.sample\("),
        (lambda: bf.gradient_flow(BIASED, POPULATION, [1.0]), r"without biases, got .*population\.sample\("),
        (lambda: bf.gradient_flow(NETWORK, POPULATION, [1.0], loss="logistic"),
         r'loss="square", got .logistic.; for other losses train on samples, population\.sample\('),
        (lambda: bf.gradient_descent(NETWORK, POPULATION, step=0.1, steps=1, loss="huber"),
         r'loss="square", got .huber.; for other losses train on samples, population\.sample\('),
        (lambda: bf.gradient_flow(NETWORK, POPULATION, [1.0], method="events"), "no kinks, so its method is"),
        (lambda: bf.gradient_flow(OTHER, POPULATION, [1.0]), "takes 2 inputs but the population has 3"),
        (lambda: bf.gradient_flow(NETWORK, [POPULATION], [1.0]), "one network takes one Population"),
        (lambda: bf.gradient_flow([NETWORK], [POPULATION, POPULATION], [1.0]), "1 networks but 2 pop"),
        (lambda: bf.gradient_flow([NETWORK] * 2, [POPULATION, POPULATION.sample(3)], [1.0]),  # type: ignore[arg-type]
         "data must be a Population or a list of them, got a list with a Dataset"),
        (lambda: bf.gradient_descent(DEEP, POPULATION, step=0.1, steps=1), r"population\.sample\("),
        (lambda: bf.sharpness(NETWORK, POPULATION), r"population\.sample\("),  # type: ignore[arg-type]
        (lambda: bf.long_descent(NETWORK, POPULATION, horizon=1.0), r"population\.sample\("),  # type: ignore[call-overload]
    ],
)  # fmt: skip
def test_what_is_not_covered_is_refused_with_the_remedy(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_runs_that_cannot_end_say_so():
    with pytest.raises(bf.dynamics.UnfinishedError, match="max_steps = 3"):
        bf.gradient_flow(NETWORK, POPULATION, [1e3], max_steps=3)
    with pytest.raises(bf.dynamics.DivergenceError, match=r"diverged at step .* use a smaller one"):
        bf.gradient_descent(NETWORK, POPULATION, step=100.0, steps=100)
    kept = bf.gradient_descent(NETWORK, POPULATION, step=100.0, steps=100, keep_diverged=True)
    assert kept.stats.stopped.startswith("diverged at step")
    assert np.isfinite(kept.loss).all()


@settings(deadline=None, max_examples=15)
@given(
    d=sampled_from([1, 2, 4]),
    width=sampled_from([1, 3, 6]),
    leak=sampled_from([0.0, 0.2, 1.0]),
    scale=floats(1e-4, 1),
    seed=integers(0, 2**31),
)
def test_flows_conserve_the_balance_of_every_neuron_and_lower_the_loss(d, width, leak, scale, seed):
    """|w_h|² − a_h² is constant, through rests at w = 0 too. Errors of steps add up in it without growth, and
    an error δ of a layer changes its squares by 2|W|δ; interpolation between steps has its own share."""
    rng = np.random.default_rng(seed)
    teacher = bf.networks.gaussian((d, 3, 1), scale=1.0, seed=seed)
    population = Population(d, linear=rng.normal(size=d), teacher=teacher, noise=0.1)
    network = bf.networks.gaussian((d, width, 1), scale=scale, leak=leak, seed=seed)
    run = bf.gradient_flow(network, population, [0.0, 1.0, 5.0, 30.0])
    balance = run.map(lambda net: np.sum(net.weights[0] ** 2, axis=1) - net.weights[1][0] ** 2)
    largest = run.map(lambda net: max(np.sum(w**2) for w in net.weights)).max()
    assert run.stats.error is not None
    assert np.abs(balance - balance[0]).max() <= 4 * (run.stats.error + 1e-8) * largest
    assert (np.diff(run.loss) <= 1e-12 * run.loss[0]).all()
