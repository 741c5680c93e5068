"""Experiments: the script makes the run of the page, the replay has its numbers, words and lines are true."""

import base64
import re
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import biasfree as bf
from biasfree.dynamics import Halted
from biasfree.lab._files import file_of
from biasfree.lab._session import Session
from biasfree.trajectory import Stats

SMALL = {"width": 8, "horizon": 20.0, "scale": 0.1}
THREE_LAYERS = {"depth": "3", "width": 4, "horizon": 5.0, "scale": 0.1}
SYMMETRIC = {"preset": "six_symmetric", "initial": "aligned"}
FAR = [[30.0, 5.0, 20.0], [-3.0, 40.0, -9.0]]


def floats(text, kind="<f4"):
    return np.frombuffer(base64.b64decode(text), kind)


def answers(state, **message):
    """All answers to a state, in order."""
    heard: list[Any] = []
    session = Session(heard.append)
    session.answer({"state": state, **message})
    return session, heard


def finished(state):
    """The exact run of a state with its data, and the last answer of every stage."""
    session, heard = answers(state)
    assert session.shown is not None
    return session.shown, {answer["stage"]: answer for answer in heard}


@cache
def preset(name):
    return finished({"preset": name})


@pytest.mark.parametrize(
    "state",
    [
        SMALL,
        SMALL | {"twin": True, "mirror": True, "leak": 0.3, "initial": "opposite"},
        THREE_LAYERS | {"loss": "logistic", "initial": "balanced", "twin": True},
        SMALL | {"method": "descent", "step": 0.1, "twin": True},
        SMALL | {"samples": [[1.0, 0.1, 1.0], [-0.5, 1 / 3, -1.0]], "seed": 7},
        SYMMETRIC | {"width": 8, "horizon": 9.0},
    ],
    ids=["flow", "twin", "three layers", "descent", "own", "aligned"],
)
def test_the_script_makes_the_run_of_the_page(state, capsys):
    session, heard = answers(state)
    found: dict = {}
    exec(file_of(session, "python")["text"], found)
    exact = next(answer for answer in heard if answer["stage"] == "exact")["replay"]
    run = found["run"]
    assert np.abs(np.array(exact["ts"]) - run.ts).max() <= 1e-12 * run.ts[-1]
    assert np.abs(np.array(exact["loss"]) - run.loss).max() <= 1e-12
    if state.get("twin"):
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
    _, heard = finished(SMALL)
    exact, last = heard["exact"]["replay"], heard["growing"]
    assert last["loss"] == exact["loss"][: len(last["loss"])]
    assert last["ts"] == exact["ts"][: len(last["ts"])]


def test_a_newer_message_stops_the_answers_between_stages():
    heard: list[Any] = []
    session = Session(heard.append, stopped=lambda: len(heard) == 2)
    with pytest.raises(Halted):
        session.answer({"state": {"width": 5}})
    assert [answer["stage"] for answer in heard] == ["state", "preview"]
    assert session.shown is None


def test_events_of_neurons_survive_json():
    stats = finished(SMALL)[0].run.stats
    assert stats.located
    assert Stats.from_json(stats.to_json()) == stats
    kinds = {event.kind for event in stats.located}
    assert kinds <= {"slides", "releases", "collapses", "departures"}
    assert {kind for kind in kinds if not stats.events[kind]} == set()
    times = [event.time for event in stats.located]
    assert times == sorted(times)


def test_the_replay_has_the_numbers_of_the_run():
    shown, heard = finished(SMALL)
    run, found = shown.run, heard["exact"]["replay"]
    angles = 2 * np.pi * np.arange(found["angles"]) / found["angles"]
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    assert found["loss"] == run.loss.tolist()
    assert np.array_equal(floats(found["w"]), run.weights[0].astype("<f4").ravel())
    assert np.array_equal(floats(found["a"]), run.weights[1].astype("<f4").ravel())
    f = floats(found["f"]).reshape(len(run), -1)
    assert np.allclose(f, [network(circle).ravel() for network in run], rtol=1e-6, atol=1e-7)  # float32
    assert found["events"] == [list(event) for event in run.stats.located]


def test_neurons_that_slide_are_marked_between_their_events():
    """The flow locates every slide: the marks are those of an independent account of its events."""
    shown, heard = finished({"scale": 1e-2, "width": 20, "horizon": 60.0})
    run = shown.run
    marks = floats(heard["exact"]["replay"]["sliding"], "u1").reshape(len(run), -1) > 0
    bound = np.zeros_like(marks)
    for event in run.stats.located:
        if event.kind in ("slides", "releases", "departures"):
            bound[run.ts > event.time, event.neuron] = event.kind == "slides"
    assert marks.any()
    moving = np.linalg.norm(run.weights[0], axis=2) > 0
    assert np.array_equal(marks & moving, bound & moving)


@given(st.integers(0, 10**6), st.sampled_from(["2", "3"]), st.sampled_from([0.0, 0.1, 0.5, 1.0]))
@settings(max_examples=8, deadline=None)
def test_the_boundary_is_where_the_library_finds_it(seed, depth, leak):
    samples = np.random.default_rng(seed).normal(size=(4, 3)).tolist()
    small = {"width": 3, "scale": 1.0, "horizon": 0.1, "samples": samples}
    shown, heard = finished(small | {"seed": seed, "depth": depth, "leak": leak})
    measured = heard["measures"]["measures"]["moments"][0]
    network, zeros = shown.run[0], np.array(measured["zeros"])
    rays = np.column_stack([np.cos(zeros), np.sin(zeros)])
    beside = network(np.vstack([rays, -rays, np.eye(2), -np.eye(2)]))
    assert np.abs(network(rays)).max(initial=0) <= 1e-9 * np.abs(beside).max()  # 40 halvings of half a degree
    if depth == "2":  # three layers may hide two zeros between two directions
        theirs = bf.diagnostics.boundary_distance(network, shown.data.x)
        assert np.allclose(measured["distance"], theirs, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("six_points", ["six_point_escape"]),
        ("xor", ["independent_flow"]),
        ("odd_sine", ["two_neuron_flow", "aligned"]),
        ("five_points", []),
    ],
)
def test_lines_are_those_that_coverage_grants(name, expected):
    shown, heard = preset(name)
    lines = heard["theory"]["lines"]
    assert [line["name"] for line in lines] == expected
    assert all(len(line["loss"]) == len(shown.run) for line in lines)


def test_the_twin_is_the_run_where_the_theorem_applies():
    """[ZSL25] Thm. 5: from aligned weights on symmetric data, the ReLU network is its linear twin."""
    shown, heard = finished(SYMMETRIC | {"width": 10, "leak": 0.2, "horizon": 80.0, "twin": True})
    loss = shown.run.loss
    assert "Theorem 5 (TMLR 8) applies" in heard["words"]["words"][-1]["text"]
    assert loss[-1] < 0.9 * loss[0]
    assert np.abs(loss - heard["twin"]["loss"]).max() < 1e-6  # both flows to 1e-8 per step


@pytest.mark.parametrize(
    ("name", "topic"), [("odd_sine", "Escape from zero"), ("six_points", "Plateau at loss 4/9")]
)
def test_predicted_and_measured_plateaus_agree(name, topic):
    """Both are written, and differ by less than δ = 0.15, the accuracy that six_point_escape states."""
    words = [word["text"] for word in preset(name)[1]["measures"]["words"]]
    found = re.fullmatch(rf"{topic}: (\S+) predicted, (\S+) measured\.", words[0])
    assert found, words[0]
    predicted, measured = map(float, found.groups())
    assert abs(predicted - measured) < 0.15 * measured
    assert words[1].startswith("Measured plateaus: 0 to ")


def test_the_sixth_point_can_be_moved_back():
    _, heard = answers({}, rest=False)
    (moved,) = (word for word in heard[-2]["words"] if word["topic"] == "symmetry")
    assert moved["button"] == "Move point 6 back"
    x = np.array(moved["state"]["samples"])
    assert bf.diagnostics.symmetry_defect(bf.Dataset(x[:, :2], x[:, 2])) <= 1e-8


def test_verdicts():
    """The six points: outputs near zero, a linear plateau, and neurons that leave it."""
    verdicts = preset("six_points")[1]["measures"]["measures"]["verdicts"]
    kinds = [verdict.partition(":")[0] for verdict in verdicts]
    assert list(dict.fromkeys(kinds)) == ["Near zero", "Effectively linear", "Nonlinear"]
    share = re.fullmatch(
        r"Nonlinear: the best linear map leaves (\S+)% of the outputs unexplained\.", verdicts[-1]
    )
    assert share
    last = preset("six_points")[1]["measures"]["measures"]["moments"][-1]
    assert share[1] == f"{100 * last['nonlinear']:.1f}"


def test_a_preview_whose_step_diverges_takes_a_smaller_one():
    _, heard = answers({"samples": FAR, "horizon": 100.0, "width": 5}, rest=False)
    assert all(None not in answer["replay"]["loss"] for answer in heard if answer["stage"] == "preview")
    _, heard = answers(SMALL, rest=False)
    assert heard[1]["label"] == "preview: descent with step 0.0025"


def test_a_run_that_cannot_be_made_says_why():
    _, heard = answers(SMALL | {"initial": "aligned"})
    assert heard[-1]["stage"] == "failed"
    assert heard[-1]["text"].startswith("These weights cannot be made:")
    _, heard = answers(SMALL | {"samples": FAR, "method": "descent", "step": 1.0, "leak": 1.0})
    assert heard[-2]["stage"] == "failed"
    assert "diverge" in heard[-2]["text"]


def test_files_need_the_exact_run():
    session, _ = answers(SMALL, rest=False)
    assert file_of(session, "npz")["text"].startswith("The exact run is not finished yet")
    assert file_of(session, "exe")["text"] == "There is no file of kind 'exe'."
    assert "bf.gradient_flow(network, data, ts" in file_of(session, "python")["text"]


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
