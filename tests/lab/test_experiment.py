"""Experiments: the script makes the run of the page, the replay has its numbers, words and lines are true."""

import base64
import re
import threading
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import biasfree as bf
from biasfree.dynamics import Halted
from biasfree.lab._experiment import network_of, preview_of, run_of, times_of, twin_of
from biasfree.lab._files import file_of
from biasfree.lab._lines import lines_of
from biasfree.lab._replay import boundary, distances, replay, sliding
from biasfree.lab._script import script
from biasfree.lab._session import Session
from biasfree.lab._state import Experiment, of_preset
from biasfree.lab._words import after_the_run, before_the_run, verdict
from biasfree.lab._worker import in_time
from biasfree.trajectory import Stats

SMALL = Experiment(width=8, horizon=20.0, scale=0.1)
FAR = ((30.0, 5.0, 20.0), (-3.0, 40.0, -9.0))


def floats(text, kind="<f4"):
    return np.frombuffer(base64.b64decode(text), kind)


def answers(experiment, **message):
    """All answers to a state, in order."""
    heard: list[Any] = []
    session = Session(heard.append)
    state = experiment.to_json()
    if experiment.samples is None:
        del state["samples"]  # as the page sends the state of a preset
    session.answer({"state": state, **message})
    return session, heard


@pytest.mark.parametrize(
    "experiment",
    [
        SMALL,
        replace(SMALL, twin=True, mirror=True, leak=0.3, initial="opposite"),
        replace(SMALL, depth="3", width=4, horizon=5.0, loss="logistic", initial="balanced", twin=True),
        replace(SMALL, method="descent", step=0.1, twin=True),
        replace(SMALL, preset="own", samples=((1.0, 0.1, 1.0), (-0.5, 1 / 3, -1.0)), seed=7),
        replace(of_preset("six_symmetric"), width=8, horizon=9.0, initial="aligned"),
    ],
    ids=["flow", "twin", "three layers", "descent", "own", "aligned"],
)
def test_the_script_makes_the_run_of_the_page(experiment, capsys):
    _, heard = answers(experiment)
    found: dict = {}
    exec(script(experiment), found)
    exact = next(answer for answer in heard if answer["stage"] == "exact")["replay"]
    run = found["run"]
    assert np.abs(np.array(exact["ts"]) - run.ts).max() <= 1e-12 * run.ts[-1]
    assert np.abs(np.array(exact["loss"]) - run.loss).max() <= 1e-12
    if experiment.twin:
        twin = next(answer for answer in heard if answer["stage"] == "twin")["loss"]
        assert np.abs(np.array(twin) - found["linear"].loss).max() <= 1e-12
    assert "Trajectory(" in capsys.readouterr().out


def test_stages_come_in_order_and_a_moving_point_gets_a_preview_only():
    _, heard = answers(SMALL)
    stages = [answer["stage"] for answer in heard if answer["stage"] != "growing"]
    assert stages == ["state", "preview", "words", "exact", "theory", "measures", "done"]
    _, heard = answers(SMALL, rest=False)
    assert [answer["stage"] for answer in heard] == ["state", "preview", "words", "done"]


def test_the_curve_grows_while_the_flow_runs():
    _, heard = answers(SMALL)
    grown = [answer for answer in heard if answer["stage"] == "growing"]
    exact = next(answer for answer in heard if answer["stage"] == "exact")["replay"]
    assert grown
    last = grown[-1]
    assert last["loss"] == exact["loss"][: len(last["loss"])]
    assert last["ts"] == exact["ts"][: len(last["ts"])]


def test_a_newer_message_stops_the_answers_between_stages():
    heard: list[Any] = []
    session = Session(heard.append, stopped=lambda: len(heard) == 2)
    with pytest.raises(Halted):
        session.answer({"state": {"width": 5}})
    assert [answer["stage"] for answer in heard] == ["state", "preview"]
    assert session.shown is None


def test_a_run_that_takes_too_long_ends_with_a_sentence():
    stop = threading.Event()
    heard: list[Any] = []

    def stopped():
        return stop.wait(10)  # until the clock has run out

    last = in_time(Session(heard.append, stopped), {"state": {"width": 5}}, stop, 0.0)
    assert [answer["stage"] for answer in heard] == ["state"]
    assert last is not None
    assert last["stage"] == "failed"
    assert last["text"].startswith(
        "The run was stopped after 0 s; the curve ends where it was. Shorten the horizon"
    )
    assert in_time(Session(heard.append), {"state": {"width": 5}, "rest": False}, stop, 60.0) is None


def test_events_of_neurons_survive_json():
    run = run_of(SMALL, network_of(SMALL), SMALL.data)
    assert run.stats.located
    assert Stats.from_json(run.stats.to_json()) == run.stats
    kinds = {event.kind for event in run.stats.located}
    assert kinds <= {"slides", "releases", "collapses", "departures"}
    assert {kind for kind in kinds if not run.stats.events[kind]} == set()
    times = [event.time for event in run.stats.located]
    assert times == sorted(times)


def test_the_replay_has_the_numbers_of_the_run():
    data = SMALL.data
    run = run_of(SMALL, network_of(SMALL), data)
    found = replay(run, data, angles=36)
    angles = 2 * np.pi * np.arange(36) / 36
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    assert found["loss"] == run.loss.tolist()
    assert np.array_equal(floats(found["w"]), run.weights[0].astype("<f4").ravel())
    assert np.array_equal(floats(found["a"]), run.weights[1].astype("<f4").ravel())
    f = floats(found["f"]).reshape(len(run), 36)
    assert np.allclose(f, [network(circle).ravel() for network in run], rtol=1e-6, atol=1e-7)  # float32
    assert found["events"] == [list(event) for event in run.stats.located]


def test_neurons_that_slide_are_marked_between_their_events():
    """The flow locates every slide: the marks are those of an independent account of its events."""
    experiment = replace(SMALL, scale=1e-2, width=20, horizon=60.0)
    run = run_of(experiment, network_of(experiment), experiment.data)
    marks = sliding(run.weights[0], experiment.data) > 0
    bound = np.zeros_like(marks)
    for event in run.stats.located:
        if event.kind in ("slides", "releases", "departures"):
            bound[run.ts > event.time, event.neuron] = event.kind == "slides"
    assert marks.any()
    moving = np.linalg.norm(run.weights[0], axis=2) > 0
    assert np.array_equal(marks & moving, bound & moving)


@given(st.integers(0, 10**6), st.sampled_from([2, 3]), st.sampled_from([0.0, 0.1, 0.5, 1.0]))
@settings(max_examples=8, deadline=None)
def test_the_boundary_is_where_the_library_finds_it(seed, depth, leak):
    network = bf.networks.gaussian((2, *[3] * (depth - 1), 1), scale=1.0, leak=leak, seed=seed)
    x = np.random.default_rng(seed).normal(size=(4, 2))
    zeros = boundary(network)
    rays = np.column_stack([np.cos(zeros), np.sin(zeros)])
    beside = network(np.vstack([rays, -rays, np.eye(2), -np.eye(2)]))
    assert np.abs(network(rays)).max(initial=0) <= 1e-9 * np.abs(beside).max()  # 40 halvings of half a degree
    if depth == 2:  # three layers may hide two zeros between two directions
        theirs = bf.diagnostics.boundary_distance(network, x)
        assert np.allclose(distances(network, zeros, x), theirs, rtol=1e-6, atol=1e-9)


def test_lines_are_those_that_coverage_grants():
    for name, expected in [
        ("six_points", ["six_point_escape"]),
        ("xor", ["independent_flow"]),
        ("odd_sine", ["two_neuron_flow", "aligned"]),
        ("five_points", []),
    ]:
        experiment = of_preset(name)
        network, data, ts = network_of(experiment), experiment.data, times_of(experiment)
        found = lines_of(experiment, network, data, ts, bf.theory.coverage(network, data))
        assert [line.name for line in found] == expected
        assert all(line.loss.shape == ts.shape for line in found)


def test_the_twin_is_the_run_where_the_theorem_applies():
    """[ZSL25] Thm. 5: from aligned weights on symmetric data, the ReLU network is its linear twin."""
    experiment = replace(of_preset("six_symmetric"), width=10, initial="aligned", leak=0.2, horizon=80.0)
    network, data = network_of(experiment), experiment.data
    words = before_the_run(experiment, network, data, bf.theory.coverage(network, data))
    assert "Theorem 5 (TMLR 8) applies" in words[-1].text
    run = run_of(experiment, network, data)
    assert run.loss[-1] < 0.9 * run.loss[0]
    assert np.abs(run.loss - twin_of(experiment, network, data)).max() < 1e-6  # both flows to 1e-8 per step


def test_predicted_and_measured_plateaus_agree():
    """Both are written, and differ by less than δ = 0.15, the accuracy that six_point_escape states."""
    for name, topic in [("odd_sine", "Escape from zero"), ("six_points", "Plateau at loss 4/9")]:
        experiment = of_preset(name)
        network, data = network_of(experiment), experiment.data
        run = run_of(experiment, network, data)
        words = [*after_the_run(experiment, network, data, run, bf.theory.coverage(network, data))]
        found = re.fullmatch(rf"{topic}: (\S+) predicted, (\S+) measured\.", words[0].text)
        assert found, words[0].text
        predicted, measured = map(float, found.groups())
        assert abs(predicted - measured) < 0.15 * measured
        assert words[1].text.startswith("Measured plateaus: 0 to ")


def test_the_sixth_point_can_be_moved_back():
    experiment = of_preset("six_points")
    network, data = network_of(experiment), experiment.data
    words = before_the_run(experiment, network, data, bf.theory.coverage(network, data))
    assert words[0].button == "Move point 6 back"
    assert words[0].makes is not None
    assert bf.diagnostics.symmetry_defect(words[0].makes.data) <= 1e-8


def test_verdicts():
    data = bf.data.six_points()
    linear = bf.networks.gaussian((2, 4, 1), scale=1.0, leak=1.0)
    assert verdict(linear, data, 0.0).startswith("Effectively linear:")
    assert verdict(linear, data, 0.3).startswith("Nonlinear: the best linear map leaves 30.0%")
    assert verdict(bf.networks.gaussian((2, 4, 1), scale=1e-6), data, 1.0).startswith("Near zero:")


def test_a_preview_whose_step_diverges_takes_a_smaller_one():
    experiment = Experiment(
        preset="own", samples=((30.0, 5.0, 20.0), (-3.0, 40.0, -9.0)), horizon=100.0, width=5
    )
    preview = preview_of(experiment, network_of(experiment), experiment.data)
    assert preview is None or np.isfinite(preview.run.loss).all()
    calm = preview_of(SMALL, network_of(SMALL), SMALL.data)
    assert calm is not None
    assert calm.label == "preview: descent with step 0.0025"


def test_a_run_that_cannot_be_made_says_why():
    _, heard = answers(replace(SMALL, initial="aligned"))
    assert heard[-1]["stage"] == "failed"
    assert heard[-1]["text"].startswith("These weights cannot be made:")
    _, heard = answers(replace(SMALL, preset="own", samples=FAR, method="descent", step=1.0, leak=1.0))
    assert heard[-2]["stage"] == "failed"
    assert "diverge" in heard[-2]["text"]


def test_files_need_the_exact_run():
    session, _ = answers(SMALL, rest=False)
    assert file_of(session, "npz")["text"].startswith("The exact run is not finished yet")
    assert file_of(session, "exe")["text"] == "There is no file of kind 'exe'."
    assert file_of(session, "python")["text"] == script(SMALL)


def test_files_hold_the_run(tmp_path):
    session, _ = answers(SMALL)
    assert session.shown is not None
    (tmp_path / "run.npz").write_bytes(base64.b64decode(file_of(session, "npz")["content"]))
    assert np.array_equal(bf.Trajectory.load(tmp_path / "run.npz").loss, session.shown.run.loss)
    assert base64.b64decode(file_of(session, "png", 10**9)["content"]).startswith(b"\x89PNG")
    page = base64.b64decode(file_of(session, "page")["content"]).decode()
    assert "default-src 'none'" in page
    assert "src=" not in page
    assert "import " not in page.split("<script type='module'>")[1].split("</script>")[0]
