"""Results of the theory on infinite data, against exact gradient flow: no sampling error is left."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import floats, integers, sampled_from
from numpy.testing import assert_allclose

import biasfree as bf
from biasfree.data import Population
from refusals import refused

SIGMA = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.2], [0.0, 0.2, 0.7]])
LINEAR = [0.3, -0.4, 0.5]
TEACHER = bf.networks.gaussian((3, 4, 1), scale=1.5, leak=0.2, seed=3)


def gap(run, other):
    """The largest difference of losses and of maps, over the largest loss and map."""
    losses = np.abs(run.loss - other.loss).max() / np.abs(other.loss).max()
    return max(losses, np.abs(run.maps - other.maps).max() / np.abs(other.maps).max())


@settings(max_examples=12)
@given(
    leak=floats(0, 1),
    width=sampled_from([2, 6, 11]),
    d=sampled_from([1, 2, 20, 60]),
    scale=floats(1e-6, 1),
    seed=integers(0, 2**31),
    radius=sampled_from([None, 2.0]),
)
def test_eq_38_is_the_flow_on_infinite_data(leak, width, d, scale, seed, radius):
    """Corollary 14 to 1e-8, at Fig. 3's dimensions and others: 1.8 % on its 2 000 samples."""
    rng = np.random.default_rng(seed)
    w = rng.uniform(-0.5, 0.5, size=d)
    population = Population(d, radius=radius, linear=w, odd=(w, np.sin), noise=0.2)
    r = rng.normal(size=d)
    r *= 1 if r @ w > 0 else -1  # near −β̄ the escape time depends on the last digits of the weights
    network = bf.networks.rank_one(r, width=width, scale=scale, leak=leak)
    s = np.linalg.norm(population.beta)
    ts = np.linspace(0, 25 / s, 26)
    flow = bf.gradient_flow(network, population, ts, rtol=1e-11)
    solved = bf.theory.white_flow(network, population, ts)
    assert gap(flow, solved) <= 1e-8
    weights = np.abs(flow.weights[0] - solved.weights[0]).max()
    assert weights <= 1e-8 * np.abs(solved.weights[0]).max()


def test_the_headline_figure():
    """Fig. 3: odd_sine in 20 dimensions, ReLU; aligned initial weights in closed form, to 1e-8."""
    population = Population.odd_sine(20, seed=0)
    random = bf.networks.gaussian((20, 50, 1), scale=1e-8, seed=1)
    ts = np.linspace(0, 60, 61)
    flow = bf.gradient_flow(bf.theory.aligned(random, population), population, ts, rtol=1e-11)
    for solved in (
        bf.theory.white_flow(bf.theory.aligned(random, population), population, ts),
        bf.theory.sigmoid_flow(random, population, ts),
    ):
        assert gap(flow, solved) <= 1e-8
    data = bf.data.odd_sine(1000, 20, seed=0)
    sampled = bf.theory.white_flow(bf.theory.aligned(random, data), data, ts, white_tolerance=1.0)
    reduced = bf.theory.reduced_flow(bf.theory.aligned(random, data), data, ts)
    assert gap(sampled, reduced) > 1e-3  # the sample is not white


@pytest.mark.parametrize("leak", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("l2", [0.0, 0.05])
def test_other_covariances_and_l2(leak, l2):
    population = Population(3, covariance=SIGMA, linear=LINEAR, odd=([1, 0, 1], np.tanh), noise=0.3)
    network = bf.networks.rank_one([1.0, 0.5, -0.3], width=6, scale=0.1, leak=leak)
    ts = np.linspace(0, 30, 31)
    flow = bf.gradient_flow(network, population, ts, rtol=1e-11, l2=l2)
    for solved in (
        bf.theory.reduced_flow(network, population, ts, l2=l2, rtol=1e-12),
        bf.theory.equivalent_flow(network, population, ts, l2=l2, rtol=1e-12),
    ):
        assert gap(flow, solved) <= 1e-8
        assert_allclose(flow.objective, solved.objective, rtol=1e-8)
    refused("white input", bf.theory.white_flow, network, population, ts)


def test_descent_is_that_of_the_linear_twin():
    population = Population.odd_sine(5)
    network = bf.networks.rank_one(np.ones(5), width=6, scale=0.3)
    run = bf.gradient_descent(network, population, step=0.2, steps=60)
    solved = bf.theory.equivalent_descent(network, population, 0.2, 60)
    assert gap(run, solved) <= 1e-12
    twin = bf.gradient_descent(bf.theory.linear_twin(network), population, step=0.1, steps=60)
    assert gap(run, twin) <= 1e-12


def test_small_random_weights_leave_their_twin_by_the_predicted_error():
    """`final_weight_error` at scale 1e-8: its error is at most twice the `growing` defect, below 1e-4."""
    population = Population.odd_sine(5)
    network = bf.networks.gaussian((5, 30, 1), scale=1e-8, seed=2)
    predicted = bf.theory.final_weight_error(network, population)
    ts = np.array([0.0, 600.0])
    relu = bf.gradient_flow(network, population, ts)[-1]
    linear = bf.gradient_flow(bf.theory.linear_twin(network), population, ts / 2)[-1]
    pairs = list(zip(relu.weights, linear.weights, strict=True))
    away = np.sqrt(sum(np.sum((np.sqrt(0.5) * a - b) ** 2) for a, b in pairs))
    found = away / np.sqrt(sum(np.sum(b**2) for _, b in pairs))
    assert found == pytest.approx(predicted, abs=1e-4)
    assert predicted > 0.01


def test_least_squares_is_where_training_ends():
    for population in (
        Population(3, covariance=SIGMA, linear=LINEAR, odd=([1, 0, 1], np.tanh), noise=0.3),
        Population(3, radius=2.0, linear=LINEAR),
    ):
        best = bf.theory.least_squares(population)
        assert_allclose(best, np.linalg.solve(population.sigma, population.beta), rtol=1e-12)
        network = bf.networks.gaussian((3, 20, 1), scale=0.5, seed=0)
        run = bf.gradient_flow(network, population, [0.0, 100.0, 1000.0])
        away = np.abs(run.maps[1:, 0] - best).max(axis=1)
        assert away[1] <= 1e-5
        assert away[1] <= away[0] / 3 or away[1] <= 1e-8  # the even part relaxes as a power of t
        assert run.loss[-1] == pytest.approx(population.odd_rest / 2, abs=1e-5)
        l2 = 0.1
        decayed = bf.gradient_flow(network, population, [0.0, 1000.0], l2=l2)
        assert_allclose(decayed.maps[-1, 0], bf.theory.l2_solution(population, l2), atol=1e-6)


def test_the_escape_times_and_the_bounds_hold():
    population = Population(3, covariance=SIGMA, linear=LINEAR)
    network = bf.networks.gaussian((3, 40, 1), scale=1e-6, seed=0)
    end = bf.theory.escape_time(network, population)
    ts = np.linspace(0, 2 * end, 41)
    run = bf.gradient_flow(network, population, ts)
    drop = (run.loss[0] - run.loss) / run.loss[0]
    assert drop[ts < 0.8 * end].max() < 0.05
    assert drop[ts > 1.3 * end].min() > 0.5
    bound = bf.theory.norm_bound(network, population, ts)
    assert (run.map(lambda net: net.norms.max()) <= bound * (1 + 1e-7)).all()
    assert bf.theory.growth_rate(network, population) == pytest.approx(np.linalg.norm(population.beta) / 2)


def test_condition_3_holds_for_odd_targets_and_not_for_a_relu_teacher():
    network = bf.networks.rank_one(LINEAR, width=4, scale=0.1)

    def symmetry(population, net=network):
        row = bf.theory.coverage(net, population)["reduced_flow"]
        return next(f.defect for f in row.findings if f.hypothesis.key == "symmetry")

    odd = Population(3, covariance=SIGMA, linear=LINEAR, odd=(LINEAR, np.sin), noise=1.0)
    assert symmetry(odd) == 0
    assert {"reduced_flow", "equivalent_flow", "least_squares"} <= {*bf.theory.coverage(network, odd).applies}
    assert "white_flow" not in bf.theory.coverage(network, odd).applies
    kinked = Population(3, teacher=TEACHER)
    assert symmetry(kinked) > 0.01
    refused("Condition 3", bf.theory.reduced_flow, network, kinked, [1.0])
    assert symmetry(kinked, bf.theory.linear_twin(network)) == 0
    linear = bf.Network(TEACHER.weights, leak=1.0)
    assert symmetry(Population(3, teacher=linear)) == 0
    (first, second) = TEACHER.weights
    mirrored = bf.Network((np.concatenate([first, -first]), np.hstack([second, -second])), leak=0.2)
    assert symmetry(Population(3, covariance=SIGMA, teacher=mirrored)) <= 1e-15  # the even part cancels


def test_the_asymmetry_of_one_relu_neuron():
    """y = max(v·x, 0): T_y = |E[sgn(v·x)|v·x|x]|/2/√(E[y²]TrΣ) = ½/√(½·3) at r = v, for |v| = 1, D = 3."""
    neuron = bf.Network(([[0.6, 0.0, 0.8]], [[1.0]]))
    population = Population(3, teacher=neuron)
    row = bf.theory.coverage(neuron, population)["loss_split"]
    assert [finding.hypothesis.key for finding in row.missing] == ["symmetry"]
    rank_one = bf.networks.rank_one(LINEAR, width=4, scale=0.1)
    with pytest.raises(bf.AssumptionError) as raised:
        bf.theory.reduced_flow(rank_one, population, [1.0])
    assert raised.value.defect == pytest.approx(0.5 / np.sqrt(1.5), rel=1e-12)


def test_what_needs_samples_is_refused_with_the_remedy():
    population = Population.linear_teacher(3)
    network = bf.networks.rank_one(LINEAR, width=4, scale=0.1)
    small = bf.networks.gaussian((3, 8, 1), scale=1e-4, seed=1)
    for flow in (bf.theory.early_flow, bf.theory.two_neuron_flow):
        with pytest.raises(ValueError, match=r"use samples, population\.sample\(n, seed\)"):
            flow(small, population, [1.0], loss="logistic")
    for general_flow in (bf.theory.reduced_flow, bf.theory.equivalent_flow):
        with pytest.raises(ValueError, match=r"use samples, population\.sample\(n, seed\)"):
            general_flow(network, population, [1.0], loss="logistic")
    table = bf.theory.coverage(network, population)
    assert "use samples, population.sample(n, seed)" in table["max_margin"].remedies
    assert "linear_part" in table.applies


def test_theory_in_many_dimensions_writes_no_matrix():
    d = 100_000
    population = Population(d, linear=np.ones(d) / np.sqrt(d))
    network = bf.networks.rank_one(np.linspace(0, 1, d), width=4, scale=0.1)
    ts = np.linspace(0, 20, 11)
    solved, reduced = (f(network, population, ts) for f in (bf.theory.white_flow, bf.theory.reduced_flow))
    flow = bf.gradient_flow(network, population, ts)
    assert_allclose(flow.loss, solved.loss, rtol=0, atol=1e-7)
    assert_allclose(reduced.loss, solved.loss, rtol=0, atol=1e-8)


def test_linear_networks_in_closed_form():
    """`linear_flow` from balanced weights and `modes_flow` from aligned ones, against the flow."""
    population, ts = Population(3, covariance=1.5, linear=LINEAR, teacher=TEACHER), np.linspace(0, 8, 9)
    balanced = bf.networks.lambda_balanced((3, 4, 1), balance=0.0, scale=0.5, seed=0)
    run = bf.gradient_flow(balanced, population, ts, rtol=1e-11)
    assert gap(run, bf.theory.linear_flow(balanced, population, ts)) <= 1e-8
    modes = bf.theory.aligned_modes(population, width=4, depth=2, strengths=0.05)
    run = bf.gradient_flow(modes, population, ts, rtol=1e-11)
    assert gap(run, bf.theory.modes_flow(modes, population, ts)) <= 1e-8
    assert {"linear_flow", "modes_flow"} <= {
        name for net in (balanced, modes) for name in bf.theory.coverage(net, population).applies
    }


def velocity(network, population, step=1e-3):
    """Ẇ₁ and Ẇ₂ from one step of descent."""
    after = bf.gradient_descent(network, population, step=step, steps=1)[-1]
    return [(new - old) / step for new, old in zip(after.weights, network.weights, strict=True)]


@settings(max_examples=20)
@given(leak=floats(0, 1), width=sampled_from([1, 5]), seed=integers(0, 2**31), sphere=sampled_from([0, 1]))
def test_the_loss_splits_and_so_does_the_velocity(leak, width, seed, sphere):
    """L = L_lin + E[f_e²]/2 at any weights, with the loss and the velocity that the simulator has."""
    inputs: Any = {"radius": 2.0} if sphere else {"covariance": SIGMA}
    population = Population(3, **inputs, linear=LINEAR, odd=([1, 0, 1], np.tanh), noise=0.3)
    network = bf.networks.gaussian((3, width, 1), scale=1.0, leak=leak, seed=seed)
    split = bf.theory.loss_split(network, population)
    simulated = bf.gradient_flow(network, population, [0.0, 1e-9]).loss[0]
    assert split.total == pytest.approx(simulated, rel=1e-12)
    assert split.even == pytest.approx(
        bf.diagnostics.nonlinear_share(network, population)[0]
        * bf.diagnostics.square_loss(network, Population(3, **inputs)),
        rel=1e-10, abs=1e-14,
    )  # fmt: skip
    found = bf.theory.symmetric_slope(network, population)
    for one, other in zip(found, velocity(network, population), strict=True):
        assert_allclose(one, other, atol=1e-10)  # roundings of the weights over the step


def test_a_neuron_at_zero_has_the_slope_of_descent():
    population = Population(3, covariance=SIGMA, linear=LINEAR)
    network = bf.Network(([[0.0, 0, 0], [1.0, 0.5, 0]], [[0.7, -0.2]]), leak=0.3)
    found = bf.theory.symmetric_slope(network, population)
    for one, other in zip(found, velocity(network, population), strict=True):
        assert_allclose(one, other, atol=1e-11)


@pytest.mark.parametrize("leak", [0.0, 0.5])
def test_small_random_weights_are_two_neurons_for_any_covariance(leak):
    """Within twice the `growing` defect, as on samples: here below 1e-3."""
    population = Population(3, covariance=SIGMA, linear=LINEAR, odd=([1, 0, 1], np.tanh), noise=0.3)
    network = bf.networks.gaussian((3, 9, 1), scale=1e-7, leak=leak, seed=4)
    ts = np.linspace(0, 60, 31)
    solved = bf.theory.two_neuron_flow(network, population, ts)
    run = bf.gradient_flow(network, population, ts)
    assert solved.stats.defects["growing"] <= 1e-3
    assert gap(run, solved) <= 2 * solved.stats.defects["growing"]
    assert run.loss[-1] < 0.7 * run.loss[0]  # the transition is among the times


def test_the_early_phase_is_linear_within_its_bound():
    population = Population(3, covariance=SIGMA, linear=LINEAR)
    network = bf.networks.gaussian((3, 9, 1), scale=1e-3, seed=4)
    ts = np.linspace(0, 5, 11)
    solved, run = (f(network, population, ts) for f in (bf.theory.early_flow, bf.gradient_flow))
    away = np.sqrt(
        sum(np.sum((a - b) ** 2, axis=(1, 2)) for a, b in zip(solved.weights, run.weights, strict=True))
    )
    assert (away <= bf.theory.early_error(network, population, ts) + 1e-9).all()
    assert_allclose(solved.loss, run.loss, rtol=1e-3)
    assert solved.loss[0] == pytest.approx(run.loss[0], rel=1e-13)
