"""What counts as evidence in an answer: mirror images, few samples, and the better of two linear maps."""

from typing import Any

import numpy as np
import pytest

import biasfree as bf
from biasfree.diagnostics.advice._competitors import competitors
from biasfree.diagnostics.advice._task import Difference, Task, difference


def test_samples_of_one_group_are_one_piece_of_evidence():
    d = np.random.default_rng(0).normal(size=50)
    once = difference(d)
    apart = difference(d, np.arange(50))
    twice = difference(np.concatenate([d, d]), np.tile(np.arange(50), 2))
    assert (apart.value, apart.error) == pytest.approx((once.value, once.error), rel=1e-12)
    assert (twice.value, twice.error) == pytest.approx((once.value, once.error), rel=1e-12)
    assert difference(np.concatenate([d, d])).error < 0.72 * once.error  # 1/√2, were they independent
    assert difference(d, np.zeros(50)).error == np.inf


def test_huge_differences_do_not_overflow():
    d = np.random.default_rng(0).normal(size=50)
    huge, plain = difference(1e200 * d), difference(d)
    assert (huge.value, huge.error) == pytest.approx((1e200 * plain.value, 1e200 * plain.error), rel=1e-12)
    assert plain.error == pytest.approx(np.std(d, ddof=1) / np.sqrt(50), rel=1e-12)


def test_mirror_images_are_grouped():
    x = np.random.default_rng(0).normal(size=(40, 3))
    found = competitors(np.concatenate([x, -x]), Task(np.concatenate([x, -x])[:, :1]), seed=0)
    assert found is not None
    assert found.linear.groups is not None
    assert len(np.unique(found.linear.groups)) == 40


def test_growth_is_what_the_last_doubling_of_samples_gave():
    """Noisy targets of 40 inputs: 64 samples are few for a linear map, 1600 are not."""
    rng = np.random.default_rng(0)
    w = rng.normal(size=40)
    found: dict[int, Any] = {}
    for n in (80, 2000):
        x = rng.normal(size=(n, 40))
        found[n] = competitors(x, Task((x @ w + 3 * rng.normal(size=n))[:, None]), seed=0)
    assert [found[n].fitted for n in found] == [64, 1600]
    assert found[80].growth > 0.05 > 0.02 > found[2000].growth


def test_a_gain_over_a_linear_map_that_still_improves_is_not_confirmed():
    """The truth is linear, known to the model but for a small bend; the linear map must learn it from 64."""
    rng = np.random.default_rng(1)
    w = rng.normal(size=30)
    x = rng.normal(size=(80, 30))
    y = x @ w + 2 * rng.normal(size=80)
    report = bf.diagnose(lambda z: z @ w + np.abs(z[:, 0]), x, y, unseen=True, flips=20)
    assert report.case == "unconfirmed"
    assert "is fitted to 64 samples only, and still improves: with half of them it reaches" in report.answer


def test_a_model_is_called_worse_from_three_errors_on():
    assert Difference(-0.025, 0.01).below(0.005)
    assert not Difference(-0.025, 0.01).below(0.005, errors=3)
    assert Difference(-0.035, 0.01).below(0.005, errors=3)
    assert not Difference(-0.004, 0.001).below(0.005)
