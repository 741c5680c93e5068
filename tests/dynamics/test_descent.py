"""Gradient descent is the iteration itself: PyTorch's SGD, number for number."""

import re
from functools import cache
from typing import Any

import jax
import numpy as np
import pytest
import torch

import biasfree as bf
import oracles
from biasfree.dynamics import DivergenceError


@pytest.fixture(autouse=True, params=["native", "JAX"])
def engine(request):
    """Every test runs in the native loop, and in JAX, which takes accelerators."""
    if request.param == "JAX":
        request.getfixturevalue("in_jax")
    return request.param


def sgd(network, data, *, step, steps, loss="square", l2=0.0):
    """The arrays of a network after training by torch.optim.SGD, whose weight decay spares the biases."""
    model = network.to_torch()
    linear = [m for m in model if isinstance(m, torch.nn.Linear)]
    weights, biases = [m.weight for m in linear], [m.bias for m in linear if m.bias is not None]
    groups = [{"params": weights, "weight_decay": l2}]
    optimizer = torch.optim.SGD(groups + [{"params": biases}] * bool(biases), lr=step)
    x, y = torch.from_numpy(data.x.copy()), torch.from_numpy(data.targets.copy())
    for _ in range(steps):
        optimizer.zero_grad()
        f = model(x)
        each = (y - f) ** 2 / 2 if loss == "square" else torch.nn.functional.softplus(-y * f)
        (each.sum() / len(x)).backward()
        optimizer.step()
    return [p.detach().numpy() for p in (*weights, *biases)]


def last_arrays(run):
    return [*run[-1].weights, *(run[-1].biases or ())]


CASES: dict[str, tuple[tuple[int, ...], dict[str, Any]]] = {
    "2 layers": ((3, 5, 1), {}),
    "2 layers, logistic, l2": ((3, 5, 1), {"loss": "logistic", "l2": 0.01}),
    "2 layers, two outputs, biases, l2": ((3, 5, 2), {"l2": 0.02, "biased": True}),
    "2 layers, mirrored": ((3, 5, 1), {"mirrored": True, "l2": 0.01}),
    "2 layers, mirrored, logistic": ((3, 5, 1), {"mirrored": True, "loss": "logistic"}),
    "3 layers, biases": ((3, 5, 4, 1), {"biased": True}),
    "3 layers, linear, l2": ((3, 5, 4, 1), {"leak": 1.0, "l2": 0.02}),
    "4 layers, logistic, biases, l2": ((3, 5, 4, 4, 1), {"loss": "logistic", "l2": 0.01, "biased": True}),
    "5 layers": ((3, 5, 4, 4, 4, 1), {"leak": 0.5}),
}


@cache
def trained_by_pytorch(case):
    """A network, its data, the options of descent, and what PyTorch makes of them."""
    sizes, options = CASES[case]
    options = {"step": 0.05, "steps": 300, **options}
    biased, mirrored = options.pop("biased", False), options.pop("mirrored", False)
    network = bf.networks.gaussian(sizes, scale=1.5, leak=options.pop("leak", 0.1), seed=4)
    network = oracles.with_biases(network) if biased else network
    labels = options.get("loss") == "logistic"
    data = oracles.random_data(8, 3, outputs=sizes[-1], labels=labels, seed=5)
    data = bf.data.symmetrize(data) if mirrored else data
    return network, data, options, sgd(network, data, **options)


#: JAX compiles each case anew. All that these hold is in the others, combined in another way: only the native
#: loop, which is compiled once, takes them in every test run.
COMBINED = ("2 layers, logistic, l2", "2 layers, mirrored", "3 layers, biases", "5 layers")
ENGINES_AND_CASES = [
    pytest.param(engine, case, marks=[pytest.mark.slow] * (engine == "JAX" and case in COMBINED))
    for case in CASES
    for engine in ("native", "JAX")
]


@pytest.mark.parametrize(("engine", "case"), ENGINES_AND_CASES, indirect=["engine"])
def test_descent_is_pytorch(engine, case):
    network, data, options, expected = trained_by_pytorch(case)
    run = bf.gradient_descent(network, data, save_every=300, **options)
    assert run.loss[-1] < run.loss[0]
    # 300 steps of a few eps each, 3e-13 in all, and a hundredfold growth of that on the way down
    for found, torchs in zip(last_arrays(run), expected, strict=True):
        assert np.linalg.norm(found - torchs) <= 3e-11 * np.linalg.norm(torchs), engine


def six_points_run(**options):
    network = bf.networks.gaussian((2, 6, 1), scale=0.5, seed=1)
    given: dict[str, Any] = {"step": 0.1, "steps": 150, **options}
    return bf.gradient_descent(network, bf.data.six_points(), **given)


def test_every_state_is_one_step_from_the_last():
    run = six_points_run()
    data = bf.data.six_points()
    assert len(run) == 151
    for i in (0, 1, 63, 64, 65, 149):  # within and across blocks of saved states
        weights, _ = oracles.descended(run[i], data, step=0.1, steps=1)
        for w, expected in zip(run[i + 1].weights, weights, strict=True):
            np.testing.assert_allclose(w, expected, rtol=0, atol=1e-15)  # one step, rounded
    np.testing.assert_allclose(run.loss, [oracles.loss(network, data) for network in run], rtol=1e-13)


@pytest.mark.parametrize(
    ("save_every", "saved"),
    [(4, [0, 4, 8, 10]), (5, [0, 5, 10]), (10, [0, 10]), (99, [0, 10]), (1, range(11)),
     ([1, 2, 7], [0, 1, 2, 7, 10]), (np.array([0, 3, 10]), [0, 3, 10]), ([], [0, 10])],
)  # fmt: skip
def test_first_and_last_are_saved(save_every, saved):
    run = six_points_run(steps=10, save_every=save_every)
    np.testing.assert_allclose(run.ts, 0.1 * np.array(saved), rtol=1e-15)
    every = six_points_run(steps=10)
    for w, all_ in zip(run.weights, every.weights, strict=True):
        assert np.array_equal(w, all_[list(saved)])  # the same iteration, to the last bit
    assert run.stats.evaluations == 10
    assert run.stats.stopped == "steps done"


def test_losses_and_objectives_at_saved_times():
    run = six_points_run(l2=0.3, save_every=50)
    data = bf.data.six_points()
    np.testing.assert_allclose(run.loss, [oracles.loss(n, data) for n in run], rtol=1e-13)
    penalties = [oracles.penalty(n, 0.3) for n in run]
    np.testing.assert_allclose(run.objective, run.loss + penalties, rtol=1e-13)


@pytest.mark.parametrize("save_every", [1, 7, 150])
def test_until_stops_at_the_first_step_that_is_low_enough(save_every):
    every = six_points_run()
    level = (every.loss[70] + every.loss[71]) / 2
    first = int(np.argmax(every.loss <= level))
    assert first == 71  # the loss falls monotonically here
    run = six_points_run(until=level, save_every=save_every)
    assert run.stats.stopped == "loss level reached"
    assert run.stats.accepted == first
    np.testing.assert_allclose(run.ts[-1], 0.1 * first, rtol=1e-15)
    assert np.array_equal(run[-1].weights[0], every[first].weights[0])
    expected = {*range(0, first, save_every), first}
    np.testing.assert_allclose(run.ts, 0.1 * np.array(sorted(expected)), rtol=1e-15)


def test_several_levels_have_the_times_of_their_first_steps():
    every = six_points_run()
    levels = [float((every.loss[i] + every.loss[i + 1]) / 2) for i in (90, 20, 21)]
    run = six_points_run(until=levels, save_every=50)
    np.testing.assert_allclose(run.stats.reached, [9.1, 2.1, 2.2], rtol=1e-14)
    np.testing.assert_allclose(run.ts, [0, 5, 9.1], rtol=1e-15)


def test_until_of_a_network_that_is_already_there():
    run = six_points_run(until=100.0)
    assert run.ts.tolist() == [0.0]
    assert run.stats.stopped == "loss level reached"


def test_until_never_reached_is_the_whole_run():
    run = six_points_run(until=1e-9)
    assert len(run) == 151
    assert run.stats.stopped == "steps done"


@pytest.mark.parametrize("train", [(True, False), (False, True)])
def test_layers_that_are_not_trained_stay_bitwise(train):
    run = six_points_run(train=train, l2=0.1)
    for w, on in zip(run.weights, train, strict=True):
        assert (w == w[0]).all() == (not on)


def test_save_stores_a_measurement():
    plain = six_points_run(save_every=7)
    run = six_points_run(save_every=7, save=lambda network: network.norms)
    assert run.weights == ()
    assert run.saved is not None
    np.testing.assert_array_equal(run.saved, plain.map(lambda network: network.norms))
    np.testing.assert_array_equal(run.loss, plain.loss)
    np.testing.assert_array_equal(run[-1].weights[0], plain[-1].weights[0])


def networks_of(count):
    return [bf.networks.gaussian((2, 6, 1), scale=0.5 + 0.1 * i, leak=0.05 * i, seed=i) for i in range(count)]


def small_problem(count, *, diverging=None):
    """Eight samples and networks of five neurons, one of which may diverge."""
    scales = [1e3 if seed == diverging else 0.5 for seed in range(count)]
    networks = [bf.networks.gaussian((3, 5, 1), scale=scale, seed=seed) for seed, scale in enumerate(scales)]
    return networks, oracles.random_data(8, 3, seed=0)


def assert_single_runs(runs, networks, data, **options):
    """Each of these runs is that of its network and dataset alone."""
    datasets = [data] * len(networks) if isinstance(data, bf.Dataset) else data
    for one, network, own in zip(runs, networks, datasets, strict=True):
        alone = bf.gradient_descent(network, own, **options)
        np.testing.assert_array_equal(one.ts, alone.ts)
        assert one.leak == alone.leak
        # side by side, sums are taken in another order: eps a step, 50 steps
        assert oracles.distance(one, alone) < 1e-13
        np.testing.assert_allclose(one.loss, alone.loss, rtol=1e-12)


FORTY: dict[str, Any] = {"step": 0.1, "steps": 40, "save_every": 15}
FIFTY: dict[str, Any] = {"step": 0.1, "steps": 50, "save_every": 20}


@pytest.mark.parametrize("count", [1, 3, 17])  # 17: one more than run side by side
def test_a_list_of_networks_is_its_runs_one_by_one(count):
    data, networks = bf.data.six_points(), networks_of(count)
    assert_single_runs(bf.gradient_descent(networks, data, **FORTY), networks, data, **FORTY)


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize("threads", [1, 3])
def test_runs_in_threads_and_in_groups_are_runs_one_by_one(use_threads, threads):
    """Groups of at most four on an accelerator; the same bits in any number of threads."""
    use_threads(threads)
    networks, data = small_problem(18)
    runs = bf.gradient_descent(networks, data, **FIFTY)
    use_threads(1)
    for run, again in zip(runs, bf.gradient_descent(networks, data, **FIFTY), strict=True):
        np.testing.assert_array_equal(run.weights[0], again.weights[0])
    assert_single_runs(runs, networks, data, **FIFTY)


@pytest.mark.usefixtures("in_jax")
def test_many_runs_side_by_side_are_runs_one_by_one():
    """As on an accelerator: more states are saved than a call has room for, and a run diverges."""
    options = FIFTY | {"steps": 300, "save_every": 3}
    networks, data = small_problem(70, diverging=65)
    runs = bf.gradient_descent(networks, data, **options, keep_diverged=True)
    assert runs[65].stats.stopped.startswith("diverged")
    assert_single_runs(runs[60:65], networks[60:65], data, **options)


@pytest.mark.usefixtures("little_memory")
def test_an_error_in_a_thread_reaches_the_caller(use_threads):
    use_threads(2)
    networks, data = small_problem(8, diverging=5)
    with pytest.raises(DivergenceError, match="network 5 diverged"):
        bf.gradient_descent(networks, data, **FIFTY)


def test_a_list_of_datasets_goes_with_the_networks():
    datasets, networks = [bf.data.six_points(d) for d in (0.0, 0.1, 0.5)], networks_of(3)
    assert_single_runs(bf.gradient_descent(networks, datasets, **FORTY), networks, datasets, **FORTY)


def test_a_list_stops_each_network_at_its_own_step():
    data, networks = bf.data.six_points(), networks_of(3)
    options: dict[str, Any] = {"step": 0.1, "steps": 150, "save_every": 10, "until": 0.45}
    runs = bf.gradient_descent(networks, data, **options)
    assert_single_runs(runs, networks, data, **options)
    assert len({run.ts[-1] for run in runs}) > 1


def quadratic(l2=0.0):
    """One linear layer: the objective is a quadratic of curvature Σ + λ, stable for steps below 2/λ_max."""
    data = oracles.random_data(9, 3, seed=1)
    network = bf.networks.gaussian((3, 1), scale=1.0, leak=1.0)
    return network, data, 2 / (np.linalg.eigvalsh(data.sigma).max() + l2)


def divergence(message):
    number = r"([-+.\de]+|inf)"
    found = re.search(
        rf"diverged at step (\d+): .* lowest, {number}, at step (\d+)\. .* 2/curvature = {number}, "
        rf"and step was {number}: use a smaller one\.$",
        message,
    )
    assert found is not None, message
    return [float(n) for n in found.groups()]


@pytest.mark.parametrize("l2", [0.0, 0.5])
def test_divergence_names_the_step_the_loss_and_the_largest_stable_step(l2):
    network, data, largest = quadratic(l2)
    with pytest.raises(DivergenceError) as caught:
        bf.gradient_descent(network, data, step=1.2 * largest, steps=100_000, save_every=100, l2=l2)
    at, lowest, lowest_at, stable, step = divergence(str(caught.value))
    # three digits are printed
    np.testing.assert_allclose([stable, step], [largest, 1.2 * largest], rtol=6e-3)
    w = network.weights[0].copy()
    losses: list[float] = []
    with np.errstate(over="ignore"):
        while not losses or np.isfinite(losses[-1]):
            gap = data.y - data.x @ w[0]
            losses.append(np.mean(gap**2) / 2)
            w = w + 1.2 * largest * (gap @ data.x / len(data) - l2 * w)
    # a mean sums 9 squares before it divides, and overflows up to ln(2·9)/ln(1.4²) = 4.3 steps earlier
    assert 0 <= at - (len(losses) - 1) <= 5
    assert lowest_at == np.argmin(losses)
    np.testing.assert_allclose(lowest, min(losses), rtol=1e-3)  # four digits are printed


def test_a_step_just_below_the_largest_stable_one_converges():
    network, data, largest = quadratic()
    run = bf.gradient_descent(network, data, step=0.98 * largest, steps=2000, save_every=2000)
    best = np.linalg.lstsq(data.x, data.y, rcond=None)[0]
    # (1 − 0.98·2)^2000 = 0.96^2000 < 1e-35: only rounding is left
    np.testing.assert_allclose(run[-1].weights[0][0], best, rtol=1e-12)


@pytest.mark.parametrize("late", [-1, 0, 1])
def test_divergence_is_noticed_also_at_the_last_step(late):
    """A run that ends one step before the loss overflows is valid; longer ones raise, none returns inf."""
    network, data, largest = quadratic()
    with pytest.raises(DivergenceError) as caught:
        bf.gradient_descent(network, data, step=1.2 * largest, steps=100_000, save_every=100_000)
    steps = int(divergence(str(caught.value))[0]) + late
    if late < 0:
        run = bf.gradient_descent(network, data, step=1.2 * largest, steps=steps, save_every=steps)
        assert np.isfinite(run.loss).all()
        return
    with pytest.raises(DivergenceError, match=f"diverged at step {steps - late}:"):
        bf.gradient_descent(network, data, step=1.2 * largest, steps=steps, save_every=steps)


@pytest.mark.parametrize("keep_diverged", [False, True])
def test_a_loss_that_is_infinite_from_the_start_is_refused(keep_diverged):
    network = bf.networks.gaussian((3, 5, 1), scale=1e100, seed=0)
    with pytest.raises(ValueError, match="the initial loss of gradient descent is inf; give smaller weights"):
        bf.gradient_descent(
            network, oracles.random_data(6, 3), step=0.1, steps=5, keep_diverged=keep_diverged
        )


def test_divergence_says_which_network():
    data, networks = bf.data.six_points(), networks_of(17)
    networks[16] = bf.Network(tuple(1e3 * w for w in networks[16].weights))
    with pytest.raises(DivergenceError, match="gradient descent of network 16 diverged at step"):
        bf.gradient_descent(networks, data, **FORTY)
    with pytest.raises(DivergenceError, match=r"^gradient descent diverged at step"):
        bf.gradient_descent(networks[16], data, **FORTY)


def test_diverged_runs_are_kept_and_the_others_go_on():
    """The run that diverges ends where it was last saved."""
    data, networks = bf.data.six_points(), networks_of(17)
    networks[3] = bf.Network(tuple(1e3 * w for w in networks[3].weights))
    options: dict[str, Any] = {"step": 0.1, "steps": 40, "save_every": 1}
    runs = bf.gradient_descent(networks, data, **options, keep_diverged=True)
    with pytest.raises(DivergenceError) as caught:
        bf.gradient_descent(networks[3], data, **options)
    at = int(divergence(str(caught.value))[0])
    assert runs[3].stats.stopped == f"diverged at step {at}"
    assert len(runs[3]) == at
    assert np.isfinite(runs[3].loss).all()
    healthy = [run for i, run in enumerate(runs) if i != 3]
    assert {(len(run), run.stats.stopped) for run in healthy} == {(41, "steps done")}
    weights, _ = oracles.descended(networks[16], data, step=0.1, steps=40)
    np.testing.assert_allclose(runs[16][-1].weights[0], weights[0], rtol=0, atol=1e-13)


def test_a_diverged_run_alone_keeps_what_was_saved_before():
    network, data, largest = quadratic()
    run = bf.gradient_descent(
        network, data, step=1.2 * largest, steps=100_000, save_every=100, until=1e-300, keep_diverged=True
    )
    assert run.stats.stopped.startswith("diverged at step ")
    assert run.stats.accepted == 100 * (len(run) - 1)
    np.testing.assert_allclose(run.ts[-1], 1.2 * largest * run.stats.accepted, rtol=1e-15)
    assert np.isfinite(run.loss).all()


def test_float64_whatever_the_caller_has_set():
    """Descent under the caller's float32 is descent under the caller's float64; neither setting changes."""
    assert not jax.config.jax_enable_x64  # type: ignore[attr-defined]  # JAX's default
    run = six_points_run()
    assert not jax.config.jax_enable_x64  # type: ignore[attr-defined]
    assert run.weights[0].dtype == run.loss.dtype == np.float64
    weights, _ = oracles.descended(run[0], bf.data.six_points(), step=0.1, steps=150)
    np.testing.assert_allclose(run[-1].weights[0], weights[0], rtol=0, atol=1e-12)  # float32 would leave 1e-6
    with jax.enable_x64(True):
        again = six_points_run()
        assert jax.config.jax_enable_x64  # type: ignore[attr-defined]
    np.testing.assert_array_equal(again.weights[0], run.weights[0])


def test_other_numbers_do_not_compile_anew(count_compilations):
    def go(*, leak=0.1, scale=0.5, seed=0, **options):
        network = bf.networks.gaussian((2, 6, 1), scale=scale, leak=leak, seed=seed)
        given: dict[str, Any] = {"step": 0.1, "steps": 70, **options}
        bf.gradient_descent(network, bf.data.six_points(), **given)

    go()
    changes: tuple[dict[str, Any], ...] = (
        {"leak": 0.0},
        {"scale": 1e-8},
        {"seed": 1},
        {"step": 0.01},
        {"l2": 0.1},
        {"steps": 200},
        {"save_every": 3},
        {"until": 0.4},
    )
    for change in changes:
        assert count_compilations(lambda change=change: go(**change)) == 0, change


def test_more_saved_states_than_the_budget_of_a_call_can_double():
    """A call saves 64 states at most, however many steps its budget allows."""
    network, data = bf.networks.gaussian((3, 5, 1), scale=0.1), oracles.random_data(8, 3)
    assert len(bf.gradient_descent(network, data, step=0.001, steps=34_000)) == 34_001
