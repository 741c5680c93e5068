"""The augmentation experiment in small: few neurons and steps."""

import numpy as np
import pytest

import biasfree as bf
from biasfree_papers.augment import compute
from biasfree_papers.augment.compute import homogeneous, separable
from refusals import refused


def test_numbers(numbers):
    sizes = {"task": 3, "images": 2, "loss": 2, "leak": 2, "seed": 2, "time": 31}
    assert numbers.losses.sizes == sizes
    assert (np.isfinite(numbers.angle) == (numbers.task == "separable")).all()


def test_best_linear_maps_of_three_points(numbers):
    """Two samples of margin w and one of −w: 4/9 (square), and the entropy of (2/3, 1/3) at w = ln 2."""
    three = numbers.best.sel(task="three")
    assert three.sel(loss="square").item() == pytest.approx(4 / 9, rel=1e-14)
    assert three.sel(loss="logistic").item() == pytest.approx(np.log(3) - 2 / 3 * np.log(2), rel=1e-14)
    assert numbers.best.sel(task="separable", loss="logistic") == 0


def test_runs_are_in_the_order_of_their_leaks_and_seeds(numbers):
    """The weights stored for a leak and a seed have the loss stored for them."""
    one = numbers.sel(task="three", images="plain", loss="square", leak=0.5, seed=1)
    hidden = numbers.x.sel(task="three").values @ one.W1.values.T
    output = np.maximum(hidden, 0.5 * hidden) @ one.W2.values[0]
    expected = np.mean((one.y.values - output) ** 2) / 2
    assert one.losses[-1].item() == pytest.approx(expected, rel=1e-12)


def test_the_tasks_stay_consistent_when_mirrored():
    """No input meets its own mirror image, which would have the opposite label."""
    for data in (compute.three_points(), compute.tilted_xor(), separable(20, 0)):
        directions = data.x / np.linalg.norm(data.x, axis=1)[:, None]
        same = data.y[:, None] == data.y
        assert ((directions @ directions.T)[same] > -1 + 1e-9).all()


def test_lines_through_the_origin_and_off_it():
    """A line through the origin separates its sets; the other line has a quarter of the samples beyond it."""
    direction = np.array([np.cos(0.5), np.sin(0.5)])
    for seed in range(4):
        through, off = separable(12, seed), separable(12, seed, through=False)
        assert homogeneous(through)
        bf.theory.max_margin(through)
        along = off.x @ direction
        assert along[off.y > 0].min() - along[off.y < 0].max() > 0.6  # the gap, on either side
        assert (off.y > 0).sum() == 3
        if not homogeneous(off):
            refused("separable by a plane through the origin", bf.theory.max_margin, off)


def test_sets_are_counted_by_whether_a_line_through_the_origin_separates_them(experiment, numbers):
    wrong, through = numbers.wrong * 0 + [1, 0, 2], numbers.homogeneous * False + [True, True, False]
    changed = numbers.assign(wrong=wrong, homogeneous=through.astype(bool))
    one, other = experiment.claims(changed)[-2:]
    assert one.measured == (1, 0) * 4
    assert other.measured == (2,) * 4
    (table,) = experiment.tables(changed)
    assert [row[2:] for row in table.rows] == [(4, 2, 1)] * 2 + [(2, 0, 2)] * 2
