"""Flows of several networks in threads."""

import threading
import time

import numpy as np
import pytest

import biasfree as bf
import oracles
from biasfree.dynamics import _recorder as recorder
from biasfree.dynamics._recorder import Halted, Progress, run_in_threads

TS = np.linspace(0, 5, 6)


def test_flows_in_threads_are_flows_one_by_one(use_threads):
    data = oracles.random_data(8, 3, seed=0)
    networks = [bf.networks.balanced((3, 5, 1), scale=0.5, leak=0.2, seed=seed) for seed in range(5)]
    runs = {}
    for threads in (1, 3):
        use_threads(threads)
        runs[threads] = bf.gradient_flow(networks, data, TS)
    for one, other in zip(runs[1], runs[3], strict=True):
        np.testing.assert_array_equal(one.weights[0], other.weights[0])
        assert one.stats.evaluations == other.stats.evaluations


def test_an_error_ends_the_others_and_is_raised():
    """Tasks that report progress forever end once another has failed."""
    ended = []

    def fails():
        raise ValueError("as it should")

    def goes_on():
        try:
            with Progress("a run") as bar:
                while True:
                    bar.update(0.5)
                    time.sleep(0.01)
        except Halted:
            ended.append(True)
            raise

    with pytest.raises(ValueError, match="as it should"):
        run_in_threads([goes_on, fails], 2)
    assert ended == [True]
    assert run_in_threads([lambda: 1, lambda: 2], 2) == [1, 2]


def test_a_thread_of_the_caller_is_never_halted():
    assert getattr(recorder._THREAD, "stop", None) is None
    with Progress("a run") as bar:
        bar.update(1.0)


def test_of_several_bars_one_is_shown(monkeypatch):
    monkeypatch.setattr(recorder, "PATIENCE", 0.0)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    shown = []

    def show(self):
        shown.append(self)
        self._bar = Bar()

    monkeypatch.setattr(Progress, "_show", show)
    with Progress("one") as one, Progress("other") as other:
        one.update(0.5)
        other.update(0.5)
        assert shown == [one]
    with Progress("a third") as third:
        third.update(0.5)
    assert shown == [one, third]


class Bar:
    """Stands for the bar of rich."""

    def update(self, *_, **__):
        pass

    def stop(self):
        assert threading.current_thread() is threading.main_thread()
