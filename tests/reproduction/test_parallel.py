"""Figures in processes of their own: the same bits as alone, failures named, interruptions heard."""

import multiprocessing
from dataclasses import replace

import numpy as np
import pytest

from biasfree.experiments import named
from biasfree.experiments.experiment import silent
from biasfree.reproduction import Failure, make, make_all
from biasfree.reproduction.storage import load_numbers

NAME, SMALL = "bias", {"width": 4, "epochs": 100, "times": 10, "seeds": 1}


def heard():
    events = []
    return events, lambda *event: events.append(event)


def test_a_process_gives_the_same_bits_as_a_call(tmp_path):
    experiment = named(NAME)
    events, watch = heard()
    task = (experiment, experiment.settle(SMALL))
    assert make_all([task], tmp_path / "there", jobs=2, watch=watch) == []
    make(*task, tmp_path / "here", silent)
    here, there = (load_numbers(tmp_path / place / NAME)[0] for place in ("here", "there"))
    assert all(
        np.array_equal(here[name], there[name], equal_nan=here[name].dtype.kind == "f") for name in here
    )
    assert events[0] == (NAME, "began", "")
    assert events[-1] == (NAME, "ended", "")


def test_a_failure_is_named_and_stops_nothing_else(tmp_path):
    """Settings that were not checked reach the run, which refuses them there."""
    experiment = named(NAME)
    unknown = replace(experiment, name="fig99")
    tasks = [(experiment, experiment.settle(SMALL)), (unknown, {})]
    failures = make_all(tasks, tmp_path, jobs=1, watch=heard()[1])
    assert len(failures) == 1
    assert (tmp_path / NAME / "claims.json").is_file()
    assert isinstance(failures[0], Failure)
    assert failures[0].reason.startswith("no experiment 'fig99'")


def test_an_interruption_stops_the_processes(tmp_path):
    experiment = named(NAME)

    def interrupted(_name, event, _text):
        if event == "says":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make_all([(experiment, experiment.settle(SMALL))], tmp_path, jobs=1, watch=interrupted)
    assert multiprocessing.active_children() == []
    assert not (tmp_path / NAME / "claims.json").exists()
