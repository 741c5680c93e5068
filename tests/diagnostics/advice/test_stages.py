"""A first answer, progress, and what Ctrl-C returns."""

import io
import subprocess
import sys
from contextlib import redirect_stderr
from typing import Any, NamedTuple

import numpy as np
import pytest

import biasfree as bf

X = np.random.default_rng(3).normal(size=(1200, 2))
Y = X[:, 0] + np.abs(X[:, 1])


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Watched(NamedTuple):
    """A diagnosis in two stages: the reports, and how many samples the model was called on before each."""

    report: Any
    seen: list[Any]
    before: list[int]
    shown: str


@pytest.fixture(scope="module")
def watched():
    """A diagnosis of all samples, on a terminal."""
    seen: list[Any] = []
    before: list[int] = []
    asked = 0

    def counted(x):
        nonlocal asked
        asked += len(x)
        return x[:, 0]

    def watch(report):
        seen.append(report)
        before.append(asked)

    with redirect_stderr(terminal := Terminal()):
        report = bf.diagnose(counted, X, Y, flips=20, watch=watch)
    return Watched(report, seen, before, terminal.getvalue())


def test_the_first_answer_comes_from_a_sample_and_says_so(watched):
    report, seen = watched.report, [*watched.seen]
    assert [len(one.data) for one in seen] == [200, 1200]
    assert seen[-1] is report
    assert seen[0].notes[0] == "from 200 of the 1,200 samples, chosen at random (seed 0)."
    assert seen[0].case == report.case == "intercept"
    assert not any("from 200" in note for note in report.notes)
    few = bf.diagnose(lambda x: x[:, 0], X[:1000], Y[:1000], flips=20, watch=seen.append)
    assert seen[2:] == [few]


def test_ctrl_c_returns_what_is_known():
    def stop(_):
        raise KeyboardInterrupt

    report: Any = bf.diagnose(lambda x: x[:, 0], X, Y, flips=20, watch=stop)
    assert report.notes[0] == "interrupted: this is the last report that was complete."
    assert len(report.data) == 200

    def interrupted(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):  # nothing is known yet
        bf.diagnose(interrupted, X, Y)


def test_ctrl_c_while_networks_are_trained_keeps_the_rest(monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("biasfree.diagnostics.advice._measurements.peers", interrupted)
    report = bf.diagnose(lambda x: x[:, 0], X[:50], Y[:50], flips=20, compare=True)
    assert report.notes[0].startswith("interrupted")
    assert report.to_json().count("interrupted") == 1


def test_a_terminal_shows_progress(watched):
    assert "From 200 samples: A linear map" in watched.shown
    assert "measuring symmetry of the data on 1,200 samples" in watched.shown
    assert watched.shown.endswith("\r\x1b[K")  # the line is cleared


@pytest.mark.parametrize("stream", [Terminal, io.StringIO])
def test_only_a_terminal_shows_progress(stream):
    with redirect_stderr(shown := stream()):
        bf.diagnose(lambda x: x[:, 0], X[:50], Y[:50], flips=20)
    assert bool(shown.getvalue()) is (stream is Terminal)


def test_nothing_is_compiled_on_the_way():
    code = (
        "import sys, numpy as np, biasfree as bf; x = np.random.default_rng(0).normal(size=(40, 2)); "
        "bf.diagnose(bf.networks.gaussian((2, 3, 1), scale=1.0), x, x[:, 0], flips=20); "
        "print([name for name in ('jax', 'numba', 'torch') if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_the_first_answer_calls_the_model_on_few_samples(watched):
    """A model that takes 0.3 s for 200 samples then takes about a second before the first answer."""
    assert watched.before[0] <= 800
    assert watched.before[1] - watched.before[0] <= len(X) + 800


def test_of_many_samples_a_fifth_is_held_out_once():
    x = np.random.default_rng(4).normal(size=(4100, 2))
    report = bf.diagnose(lambda z: 0.1 * z[:, 0] - 3, x, x[:, 0], flips=20)
    assert "rescaled, they explain 100 %" in report.answer
    assert [row[-1] for row in report.tables["scores"].rows] == [
        "the same 820", "820 held out", "820 held out", "5 folds of 2,000", "",
    ]  # fmt: skip
    assert any("on 820 samples held out from their fit" in reason for reason in report.reasons)


def test_the_first_answer_keeps_mirror_images_together():
    data = bf.data.odd_sine(n=600, d=2, seed=0)
    seen: list[Any] = []
    best = bf.networks.rank_one(np.linalg.lstsq(data.x, data.y)[0], width=4, scale=1.0)
    bf.diagnose(best, data, flips=20, watch=seen.append)
    assert len(seen) == 2
    for report in seen:
        assert any("every sample has its mirror image" in reason for reason in report.reasons)
