"""A first answer, progress with an estimate, and what Ctrl-C returns."""

import io
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import biasfree as bf
from biasfree.diagnosis._progress import Progress

X = np.random.default_rng(3).normal(size=(1200, 2))
Y = X[:, 0] + np.abs(X[:, 1])


def test_the_first_answer_comes_from_a_sample_and_says_so():
    seen: list[Any] = []
    report = bf.diagnose(lambda x: x[:, 0], X, Y, flips=20, watch=seen.append)
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

    monkeypatch.setattr("biasfree.diagnosis._measurements.peers", interrupted)
    report = bf.diagnose(lambda x: x[:, 0], X[:50], Y[:50], flips=20, compare=True)
    assert report.notes[0].startswith("interrupted")
    assert report.to_json().count("interrupted") == 1


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_terminal_shows_progress_and_an_estimate(monkeypatch):
    terminal, file = Terminal(), io.StringIO()
    monkeypatch.setattr(sys, "stderr", terminal)
    bf.diagnose(lambda x: x[:, 0], X, Y, flips=20)
    shown = terminal.getvalue()
    assert "From 200 samples: A linear map" in shown
    assert "measuring symmetry of the data on 1,200 samples, about" in shown
    assert shown.endswith("\r\x1b[K")  # the line is cleared
    monkeypatch.setattr(sys, "stderr", file)
    bf.diagnose(lambda x: x[:, 0], X, Y, flips=20)
    assert file.getvalue() == ""


def test_the_estimate_scales_the_times_of_the_stage_before(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    progress = Progress(shown=False)
    progress.begin(200)
    for name, took in (("score", 1.0), ("symmetry", 2.0)):
        assert progress.left(name) is None
        progress.part(name)
        now[0] += took
        progress.done(name)
    progress.begin(2000)
    assert progress.left("score") == pytest.approx(10 + 2 * 5)  # the outputs of all, a test of at most 1 000
    assert progress.left("symmetry") == pytest.approx(2 * 5)


def test_nothing_is_compiled_on_the_way():
    code = (
        "import sys, numpy as np, biasfree as bf; x = np.random.default_rng(0).normal(size=(40, 2)); "
        "bf.diagnose(bf.networks.gaussian((2, 3, 1), scale=1.0), x, x[:, 0], flips=20); "
        "print([name for name in ('jax', 'numba', 'torch', 'sklearn', 'pandas') if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_a_report_takes_more_tables():
    report = bf.diagnose(data=(X[:30], Y[:30]), flips=20)
    table = bf.diagnose(data=(X[:10], Y[:10]), flips=20).tables["data"]
    more = report.with_table("layers by name", table)
    assert list(more.tables) == [*report.tables, "layers by name"]
    assert "layers by name" in more.to_json()


def test_the_first_answer_calls_the_model_on_few_samples():
    """A model that takes 0.3 s for 200 samples then takes about a second before the first answer."""
    asked, before = [0], []

    def counted(x):
        asked[0] += len(x)
        return x[:, 0]

    bf.diagnose(counted, X, Y, flips=20, watch=lambda _: before.append(asked[0]))
    assert before[0] <= 800
    assert before[1] - before[0] <= len(X) + 800


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
