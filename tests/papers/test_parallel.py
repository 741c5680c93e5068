"""Figures in processes of their own: the same bits as alone, failures named, none left when stopped."""

import multiprocessing
from dataclasses import replace
from typing import Any

from biasfree_papers.registry import named
from biasfree_papers.reproduction import Failure, make_all
from biasfree_papers.reproduction.storage import content, load_numbers

NAME = "early"


def heard():
    events = []
    return events, lambda *event: events.append(event)


def test_a_process_gives_the_same_bits_as_a_call(tmp_path, small_run):
    experiment = named(NAME)
    events, watch = heard()
    task = (experiment, experiment.settle(experiment.small))
    assert make_all([task], tmp_path, jobs=2, watch=watch) == []
    here, (there, _) = small_run(NAME), load_numbers(tmp_path / NAME)
    assert content(here) == content(there)
    assert events[0] == (NAME, "began", "")
    assert events[-1] == (NAME, "ended", "")


def test_a_failure_is_named_and_stops_nothing_else(tmp_path):
    tasks: list[tuple[Any, dict[str, Any]]] = [
        (replace(named(NAME), name=name), {}) for name in ("fig98", "fig99")
    ]
    failures = make_all(tasks, tmp_path, jobs=1, watch=heard()[1])
    assert all(isinstance(failure, Failure) for failure in failures)
    assert {failure.reason.split(";")[0] for failure in failures} == {
        "no experiment 'fig98'",
        "no experiment 'fig99'",
    }


def test_a_stop_kills_the_processes(tmp_path):
    experiment, (events, watch) = named(NAME), heard()
    task = (experiment, experiment.settle(experiment.small))
    assert make_all([task], tmp_path, jobs=1, watch=watch, stopped=lambda: events) == []
    assert events == [(NAME, "began", "")]
    assert multiprocessing.active_children() == []
    assert not (tmp_path / NAME / "claims.json").exists()


def test_nothing_is_started_once_stopped(tmp_path):
    events, watch = heard()
    assert make_all([(named(NAME), {})], tmp_path, jobs=1, watch=watch, stopped=lambda: True) == []
    assert events == []
