"""Directions of neurons over time: angles in the plane, cosines to a reference above."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import biasfree as bf
from biasfree.trajectory import Stats, Trajectory

DATA = bf.data.six_points()


def course(first, second, ts=(0.0, 1.0, 2.0)):
    """A trajectory with given first layers, (T, H, D), and one second layer."""
    first = np.asarray(first, dtype=float)
    weights = (first, np.broadcast_to(second, (len(first), *np.shape(second))))
    return Trajectory(ts, weights, np.ones(len(first)), np.ones(len(first)), leak=0.0, stats=Stats("descent"))


def curves(line):
    """The curves of a line with gaps, as (t, y) pairs without the points that are left out."""
    t, y = np.asarray(line.get_xdata()), np.asarray(line.get_ydata())
    parts = np.split(np.stack([t, y], axis=1), np.flatnonzero(np.isnan(t)) + 1)
    return [part[~np.isnan(part).any(axis=1)] for part in parts if len(part)]


def test_angles_in_the_plane(axes):
    """Neuron 0 turns from 0 to 90°, neuron 1 passes 180°, neuron 2 is zero at first."""
    first = [
        [[1, 0], [-1, 0.1], [0, 0]],
        [[1, 1], [-1, -0.1], [2, 0]],
        [[0, 3], [-1, -1], [0, -2]],
    ]
    up, down = bf.plots.directions(axes, course(first, [[1.0, -1.0, 1.0]]))
    one, three = curves(up)
    assert_allclose(one, [[0, 0], [1, 45], [2, 90]])
    assert_allclose(three, [[1, 0], [2, -90]])
    (two,) = curves(down)
    assert_allclose(two, [[0, 180 - np.degrees(np.arctan(0.1))], [2, -135]])  # a gap at the passage
    assert up.get_color() == bf.plots.POSITIVE
    assert down.get_color() == bf.plots.NEGATIVE
    assert (up.get_label(), down.get_label()) == ("$a_h$$>0$", "$a_h$$<0$")
    assert "angle" in axes.get_ylabel()


def test_hyperplanes_of_few_samples_are_levels(axes):
    bf.plots.directions(axes, course(np.ones((3, 1, 2)), [[1.0]]), data=bf.Dataset([[1.0, 1.0]], [1.0]))
    levels = sorted(
        float(np.asarray(line.get_ydata())[0]) for line in axes.lines if line.get_linestyle() == ":"
    )
    assert_allclose(levels, [-45, 135])


def test_cosines_above_the_plane(axes):
    rng = np.random.default_rng(0)
    first, data = rng.normal(size=(3, 2, 4)), bf.data.linear_teacher(n=20, d=4, seed=0)
    run = course(first, [[1.0, 1.0]])
    unit = first / np.linalg.norm(first, axis=-1, keepdims=True)
    for given, r, name in ((data, data.beta, "barβ"), (None, np.linalg.svd(first[-1])[2][0], "v_1")):
        (line,) = bf.plots.directions(axes, run, data=given)
        expected = unit @ r / np.linalg.norm(r)
        for h, one in enumerate(curves(line)):
            assert_allclose(one[:, 1], expected[:, h], atol=1e-14)
        assert name in axes.get_ylabel()


def test_an_infinite_time_is_left_out(axes):
    run = course(np.ones((3, 1, 2)), [[1.0]], ts=(0.0, 1.0, np.inf))
    (line,) = bf.plots.directions(axes, run, color="g")
    assert len(curves(line)[0]) == 2
    assert line.get_color() == "g"


def test_refusals(blank):
    run = course(np.ones((3, 1, 2)), [[1.0]])
    with pytest.raises(ValueError, match="the network takes 2 inputs, but the data are"):
        bf.plots.directions(blank, run, data=bf.data.linear_teacher(n=5, d=3, seed=0))
    with pytest.raises(ValueError, match=r"network must be a bf\.Network or bf\.Trajectory, got a Dataset"):
        bf.plots.directions(blank, DATA)  # type: ignore[arg-type]
    measured = bf.gradient_flow(run[0], DATA, [0.0, 0.1], save=lambda _: 0.0)
    with pytest.raises(ValueError, match="the trajectory has no weights to draw; run it without save="):
        bf.plots.directions(blank, measured)
