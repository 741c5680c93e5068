"""The benchmarks measure what they say: peers compute our gradient, errors are errors, no goal is dropped."""

import json
from dataclasses import replace
from subprocess import CalledProcessError, CompletedProcess

import numpy as np
import pytest

import biasfree as bf

pytest.importorskip("torch")

from benchmarks import (
    adam_fig3,
    closed_form,
    device,
    flow_deep,
    flow_list,
    flow_shapes,
    infinite_data,
    measure,
    optimize_list,
    peers_diffrax,
    peers_numpy,
    peers_scipy,
    peers_torch,
    quickstart,
    run,
    workloads,
)
from benchmarks.measure import best, path_error
from benchmarks.problems import Problem
from benchmarks.rows import Goal, Row

#: The goals of the project, written down a second time: one that is softened or lost is seen.
GOALS = {
    "quickstart of the README, a fresh process": "≥ 1×",
    "GD, six points, H 100": "≥ 60×",
    "GD, Fig. 3 size": "≥ 5×",
    "Fig. 3 whole: six leaks to t = 40, run again": "≥ 400×",
    "Fig. 3 whole, first call in a fresh process": "≥ 200×",
    "flow, six points to t = 900": "≥ 10×",
    "flow, three layers, six points": "≥ 10×",
    "50 flows of six points as a list": "≥ 1.8×",
    "twelve flows of twelve shapes, a fresh process over again": "≤ 2×",
    "twelve flows of twelve shapes, seconds more in a fresh process": "≤ 1 s",
    "aligned phase, P 2·10³ to 2·10⁵, descent": "≤ 3×",
    "aligned phase, P 2·10³ to 2·10⁵, flow": "≤ 3×",
    "twelve descents of twelve shapes, a fresh process over again": "≤ 2×",
    "256 seeds on six points, CPU": "≥ 150×",
    "16 384 runs on six points, one H200": "≥ 80×",
    "1 000 steps of Adam, Fig. 3 size": "≥ 1×",
    "a list of runs with Adam, six points": "≥ 50×",
    "infinite data, D = 10 000, a step": "≥ 1,000×",
    "dense evaluation, Fig. 3 size": "≥ 50 %",
    "closed form, 1 000 times, D 20: maps and loss": "≥ 1,000×",
    "10⁴ points stored, against joblib": "≤ 1.5×",
    "10⁴ points by Dask": "≤ 0.02 s",
    "10⁶ points planned": "< 10 s",
    "status of 10⁵ stored points": "≤ 2 s",
    "diagnose, 1 797 × 64, 10 classes": "≤ 5 s",
    "diagnose, 1 797 × 64, 10 classes, first answer": "≤ 2 s",
    "diagnose, 1 797 × 64, 10 classes, memory": "≤ 1 GB",
    "diagnose, 20 000 × 784": "≤ 30 s",
    "diagnose, 20 000 × 784, first answer": "≤ 2 s",
    "diagnose, 20 000 × 784, memory": "≤ 1 GB",
    "diagnose, 100 000 × 100": "≤ 20 s",
    "diagnose, 100 000 × 100, first answer": "≤ 2 s",
    "diagnose, 100 000 × 100, memory": "≤ 1 GB",
    "lab: pointer to redrawn loss, median": "≤ 0.1 s",
    "lab: pointer to redrawn loss, worst": "≤ 0.3 s",
    "import biasfree": "< 0.5 s",
    "biasfree --help": "< 0.5 s",
}


@pytest.fixture
def problem():
    """A small network on data in general position."""
    rng = np.random.default_rng(3)
    data = bf.Dataset(rng.normal(size=(7, 3)), rng.normal(size=7))
    network = bf.networks.gaussian((3, 5, 1), scale=0.8, seed=2)
    return Problem("small", network, data, 0.05, np.linspace(0, 0.2, 5), 1e-10)


def slope_by_one_step(problem):
    """Our slope, from a step: W₁ − W₀ = η·slope, with rounding |W|ε/η ≤ 1e-14."""
    done = bf.gradient_descent(problem.network, problem.data, step=problem.step, steps=1)
    return [(w[1] - w[0]) / problem.step for w in done.weights]


@pytest.mark.parametrize("leak", [0.0, 0.3])
def test_every_peer_computes_our_gradient(problem, leak):
    """To rounding: sums of at most 7 terms of order one, divided by the step of 0.05 in two cases."""
    import jax

    problem = replace(problem, network=bf.Network(problem.network.weights, leak=leak))
    network, data, step = problem.network, problem.data, problem.step
    ours = slope_by_one_step(problem)
    by_hand = peers_numpy.slope(network.weights, data.x, data.targets, network.leak)
    trained = peers_torch.path(network, data, step=step, saves=[1])
    in_torch = [(w[0] - v) / step for w, v in zip(trained, network.weights, strict=True)]
    with jax.enable_x64(True):
        gradient = jax.grad(peers_diffrax.loss)(network.weights, data.x, data.targets, network.leak)
        in_diffrax = [-np.asarray(g) for g in gradient]
    for found in (by_hand, in_torch, in_diffrax):
        for mine, theirs in zip(ours, found, strict=True):
            np.testing.assert_allclose(theirs, mine, atol=1e-13)


@pytest.mark.slow  # `make bench` reports this error too
def test_every_integrator_follows_the_flow(problem):
    """Without kinks, so linear; to a hundred times the tolerance of a step, of which there are fewer."""
    problem = replace(problem, network=bf.Network(problem.network.weights, leak=1.0))
    found = [peers_scipy.solve(problem, method, rtol=1e-7, limit=60) for method in peers_scipy.METHODS]
    found.append(peers_diffrax.solve(problem, rtol=1e-7, limit=60))
    for one in found:
        assert one.finished
        assert one.reached == problem.ts[-1]
        assert path_error(one.path, problem.reference) < 1e-5


def test_a_run_that_does_not_finish_says_how_far_it_came(problem):
    found = peers_scipy.solve(problem, "RK45", rtol=1e-7, limit=0.0)
    assert not found.finished
    assert found.reached < problem.ts[-1]
    assert len(found.path[0]) < len(problem.ts)
    row = Row("flow", "SciPy", 1.0, 8.0, unfinished=True)
    assert row.cells()["ratio"] == "> 8×"


def test_descent_in_numpy_is_ours(problem):
    """After 20 stable steps, to rounding."""
    run = bf.gradient_descent(problem.network, problem.data, step=problem.step, steps=20)
    expected = peers_numpy.descended(problem.network, problem.data, step=problem.step, steps=20)
    assert path_error([w[-1:] for w in run.weights], [w[None] for w in expected]) < 1e-13


def test_path_error_is_relative_over_all_layers_and_the_largest_over_time():
    reference = (np.array([[[3.0]], [[0.0]]]), np.array([[[4.0]], [[2.0]]]))  # norms 5 and 2
    path = (np.array([[[3.0]], [[0.6]]]), np.array([[[4.5]], [[2.8]]]))  # off by 0.5 and 1
    assert path_error(path, reference) == pytest.approx(0.5, abs=1e-15)
    assert path_error([w[:1] for w in path], reference) == pytest.approx(0.1, abs=1e-15)


def test_best_is_the_shortest_and_returns_the_last():
    calls = []

    def call():
        calls.append(1)
        return len(calls)

    seconds, last = best(call, 4)
    assert (last, len(calls)) == (4, 4)
    assert seconds >= 0


def test_a_goal_counts_only_at_the_accuracy_asked_for():
    goal = Goal("≥", 3)
    assert Row("flow", ours=1.0, theirs=4.0, goal=goal).reached
    assert not Row("flow", ours=1.0, theirs=2.0, goal=goal).reached
    assert Row("flow", ours=1.0, theirs=4.0, goal=goal, error=1e-7, bound=1e-6).reached
    assert not Row("flow", ours=1.0, theirs=4.0, goal=goal, error=1e-5, bound=1e-6).reached
    assert not Row("flow", ours=1.0, theirs=4.0, goal=goal, bound=1e-6).reached
    assert not Row("flow", goal=goal).reached
    assert Row("flow").reached is None


def test_every_goal_of_the_project_is_a_row():
    found = {
        name: str(goal) for one in workloads.NAMES for name, goal in workloads.workload(one).GOALS.items()
    }
    assert {name: found.get(name) for name in GOALS} == GOALS
    assert all(name.startswith("LinearityMonitor") for name in found.keys() - GOALS.keys())


def test_the_quickstart_is_the_code_of_the_readme_and_its_peer_trains_the_same_network(problem, monkeypatch):
    """The peer's program is a plain loop; after 4 steps it is where our descent is, to rounding."""
    left = quickstart.executed("print(1)\n" + quickstart.code().replace("40, 9", "1, 2"))
    assert left["simulated"].stats.stopped == "end of ts"
    monkeypatch.setattr(quickstart, "STEP", problem.step)
    monkeypatch.setattr(quickstart.threads, "counts", lambda: (1,))
    peer = quickstart.trained(problem.network, problem.data, problem.ts, repeats=1)
    ours = bf.gradient_descent(problem.network, problem.data, step=problem.step, steps=4)
    assert path_error(peer.path, ours.weights) < 1e-14
    assert peer.seconds > peer.loop > 0
    assert peer.threads == 1


def test_a_readme_without_a_quickstart_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(quickstart, "README", tmp_path / "README.md")
    quickstart.README.write_text("# none\n\n## Quickstart\n\nlater\n")
    with pytest.raises(ValueError, match="no Python code right below '## Quickstart'"):
        quickstart.code()


def test_a_module_runs_in_a_process_of_its_own(monkeypatch):
    """What it prints is read as JSON; a module that fails is an error."""
    with pytest.raises(CalledProcessError):
        measure.in_fresh_process("no_such_module")
    done = []

    def run(command, **_):
        done.append(command)
        return CompletedProcess((), 0, "[1, 2]")

    monkeypatch.setattr(measure.subprocess, "run", run)
    assert measure.in_fresh_process("flow_fig3", 1e-3) == [1, 2]
    assert done[0][1:] == ["-m", "benchmarks.flow_fig3", "0.001"]


def test_the_shapes_of_the_flows_span_what_the_goal_names():
    samples, widths, inputs, depths = (set(values) for values in zip(*flow_shapes.SHAPES, strict=True))
    assert (min(samples), max(samples)) == (6, 400)
    assert (min(widths), max(widths)) == (20, 300)
    assert (min(inputs), max(inputs)) == (2, 10)
    assert depths == {2, 3}
    assert len(set(flow_shapes.SHAPES)) == 12
    for (network, data, _), (p, h, d, depth) in zip(flow_shapes.problems(), flow_shapes.SHAPES, strict=True):
        assert (len(data), network.sizes) == (p, (d, *[h] * (depth - 1), 1))


def test_flows_of_shapes_are_measured_with_their_error(monkeypatch):
    few = [one for one in flow_shapes.problems() if len(one[1]) < 20]
    monkeypatch.setattr(flow_shapes, "problems", lambda: few)
    found = flow_shapes.measured(again=True)
    assert 0 < found["error"] < flow_shapes.BOUND
    monkeypatch.setattr(flow_shapes, "in_fresh_process", lambda *_: {**found, "first": 3.0, "again": 1.5})
    ratio, more = flow_shapes.rows()
    assert (ratio.ratio, ratio.reached) == (2.0, True)
    assert (more.ratio, more.reached) == (1.5, False)


def test_adam_is_pytorchs_alone_and_in_a_list(problem, monkeypatch):
    assert adam_fig3.distance(problem, 30) < 1e-13
    assert adam_fig3.torch_seconds(problem, 2, 1)[0] > 0
    monkeypatch.setattr(optimize_list, "six_points", lambda: problem)
    networks = tuple(bf.networks.gaussian((3, 4, 1), scale=0.5, seed=seed) for seed in range(2))
    monkeypatch.setattr(optimize_list.seeds, "starts", lambda _: networks)
    for name, value in {"RUNS": 2, "MANY": 2, "STEPS": 20, "CHUNK": 2}.items():
        monkeypatch.setattr(optimize_list, name, value)
    (row,) = optimize_list.rows()
    assert row.error is not None
    assert row.error < 1e-12
    assert "2 runs of 20 steps" in row.note


@pytest.mark.slow  # `make bench` reports this error too
def test_infinite_data_is_compared_with_samples():
    """Our velocity is the slope of the exact loss; that of samples is off by the root of their number."""
    population, network = infinite_data.task(40)
    assert infinite_data.exact_error(network, population) < 1e-10
    errors = [
        infinite_data.sampling_error(network, population, population.sample(n, seed=0)) for n in (200, 20_000)
    ]
    assert errors[0] / errors[1] == pytest.approx(10, rel=0.3)


def test_a_list_of_flows_has_the_bits_of_single_ones(problem, monkeypatch):
    monkeypatch.setattr(flow_list, "six_points", lambda: problem)
    networks = tuple(bf.networks.gaussian((3, 4, 1), scale=0.5, seed=seed) for seed in range(3))
    monkeypatch.setattr(flow_list.seeds, "starts", lambda _: networks)
    (row,) = flow_list.rows()
    assert row.error == row.bound == 0


def test_descent_of_equal_error_is_found_by_measurement(problem, monkeypatch):
    """From steps that are too coarse: the error found is within the bound, and not far below it."""
    monkeypatch.setattr(flow_deep, "three_layers", lambda: problem)
    monkeypatch.setattr(flow_deep, "COARSEST", 8)
    steps, seconds, error = flow_deep.descent()
    assert flow_deep.BOUND / 2 < error <= flow_deep.BOUND
    assert seconds > 0
    assert steps % 4 == 0


def test_the_earlier_flow_is_a_share_of_pytorch(monkeypatch):
    """PyTorch 50 000 times the closed form is the flow 440 times it, for any time of either."""
    monkeypatch.setattr(closed_form.peers_torch, "seconds_a_step", lambda *_: (5.0, 1))  # 10 000 steps
    earlier, trained = closed_form._beside_torch(1.0, 0.0)
    assert trained.ratio == 50_000
    assert earlier.ratio == pytest.approx(440)


class Stub:
    """A workload of one row, and one that breaks before its second."""

    GOALS = {"one": Goal("≥", 2), "two": Goal("≤", 0.5, "%")}  # noqa: RUF012

    def __init__(self, error, path):
        self.error, self.path = error, path

    def rows(self):
        yield Row("one", "peer", 1.0, 3.0, goal=self.GOALS["one"], error=np.float64(1e-9))
        assert len(json.loads(self.path.read_text())["rows"]) == 1, "the row is not kept at once"
        raise self.error


@pytest.mark.parametrize(
    ("error", "code", "names"), [(OSError("broke"), 1, ["one", "two"]), (KeyboardInterrupt(), 130, ["one"])]
)
def test_what_is_finished_is_on_disk(error, code, names, tmp_path, monkeypatch, capsys):
    """A workload that breaks leaves its missing goals as not reached; Ctrl-C leaves the rows it had."""
    path = tmp_path / "made" / "bench.json"
    monkeypatch.setattr(workloads, "workload", lambda _: Stub(error, path))
    assert run.main(["--only", "descent_six", "--out", str(path)]) == code
    stored = json.loads(path.read_text())
    assert [row["workload"] for row in stored["rows"]] == names
    assert stored["rows"][0]["ratio"] == 3
    assert [row["reached"] for row in stored["rows"]] == [True, False][: len(names)]
    assert stored["finished"] == (code == 1)
    assert {"cpu", "cores", "threads", "versions"} <= stored.keys()
    printed = capsys.readouterr()
    assert "≥ 2×" in printed.out
    assert f"1 of {len(names)} goals reached" in printed.out
    assert "descent_six …" in printed.err


def test_the_table_of_a_device_can_be_stored_and_shown(monkeypatch, tmp_path):
    """A tiny batch on whatever device there is, as the row that is read back from the file."""
    record = device.measured((2,), steps=50)
    assert record["batches"][0]["error"] < 1e-12  # rounding, 1000 steps
    assert device.markdown(record).count("\n| ") == 2
    path = tmp_path / "stored.json"
    path.write_text(json.dumps(record))
    monkeypatch.setattr(device, "STORED", path)
    monkeypatch.setattr(device, "RUNS", 2)
    monkeypatch.setattr(device.seeds, "seconds_a_run_step", lambda *_: 1.0)
    (row,) = device.rows()
    assert row.theirs == 1.0
    assert row.stored == f"measured on {record['date']}, {record['device']}"
    assert "stored" in row.cells()["workload"]
