"""Plots of the loss: solutions as lines, simulations as markers, errors for empty curves."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import biasfree as bf
from biasfree.trajectory import MapTrajectory, Stats, Trajectory
from refusals import invalid

NETWORK = bf.networks.gaussian((3, 5, 1), scale=1.0, seed=0)
DATA = bf.data.linear_teacher(n=20, d=3, seed=0)


def run(ts, loss, method="descent"):
    """A trajectory of a fixed network with a given loss."""
    weights = tuple(np.broadcast_to(w, (len(ts), *w.shape)) for w in NETWORK.weights)
    return Trajectory(ts, weights, loss, loss, leak=0.0, stats=Stats(method))


def test_a_solution_is_a_line_and_a_simulation_markers(axes):
    ts = np.linspace(0, 5, 101)
    line = bf.plots.loss(axes, run(ts, np.exp(-ts), "reduced_flow"))
    points = bf.plots.loss(axes, run(ts, np.exp(-ts)), color="k")
    assert (line.get_linestyle(), line.get_marker(), line.get_label()) == ("-", "None", "reduced flow")
    assert (points.get_linestyle(), points.get_marker(), points.get_label()) == (
        "None",
        "o",
        "gradient descent",
    )
    assert points.get_color() == "k"
    for artist in (line, points):
        assert_array_equal(artist.get_xydata(), np.stack([ts, np.exp(-ts)], axis=1))
    marked: Any = points.get_markevery()
    assert 10 < len(marked) <= 25


@pytest.mark.parametrize("solve", [bf.theory.reduced_flow, bf.theory.equivalent_flow])
def test_solutions_are_lines_and_simulations_are_markers(axes, solve):
    start = bf.networks.rank_one((1.0, 1, 0), width=4, scale=0.1)
    simulated = bf.gradient_descent(start, DATA, step=0.1, steps=20)
    assert bf.plots.loss(axes, solve(start, DATA, simulated.ts)).get_linestyle() == "-"
    assert bf.plots.loss(axes, simulated).get_linestyle() == "None"


@pytest.mark.parametrize("method", ["smooth", "events", "steps"])
def test_flows_are_simulations(axes, method):
    points = bf.plots.loss(axes, run(np.arange(3.0), np.ones(3), method))
    assert (points.get_linestyle(), points.get_label()) == ("None", "gradient flow")


def test_infinite_time_is_a_level(axes):
    white = bf.data.whiten(DATA)
    solved = bf.theory.white_flow(
        bf.networks.rank_one((1.0, 1, 0), width=4, scale=0.1), white, [0, 1, 9, np.inf]
    )
    line = bf.plots.loss(axes, solved)
    assert_array_equal(line.get_xdata(), [0, 1, 9])
    (level,) = [other for other in axes.lines if other is not line]
    assert_array_equal(level.get_ydata(), [solved.loss[-1]] * 2)


def test_a_map_trajectory_has_a_loss_too(axes):
    ts, maps = np.array([0.0, 1.0, 2.0]), np.zeros((3, 1, 2))
    line = bf.plots.loss(axes, MapTrajectory(ts, maps, [3.0, 2.0, 1.0], Stats("linear_flow")))
    assert_array_equal(line.get_ydata(), [3, 2, 1])


def test_logarithmic_axes_omit_points_without_logarithm(axes):
    ts = np.append(0.0, np.geomspace(1e-3, 1e3, 601))
    loss = np.append(1 / (1 + ts[:-1]), 0.0)
    line = bf.plots.loss(axes, run(ts, loss), log_time=True, log_loss=True, shown=20)
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert_array_equal(line.get_xydata(), np.stack([ts, loss], axis=1)[1:-1])
    # Evenly along a curve of which each half covers three of six decades of time: about half of the markers
    # lie before t = 1; on plain axes nearly all would lie after it.
    early = sum(ts[1:][i] < 1 for i in np.asarray(line.get_markevery()))
    assert 6 <= early <= 14


def test_losses_that_cannot_be_drawn_are_refused(blank):
    with pytest.raises(
        ValueError, match=r"trajectory must be a bf\.Trajectory or bf\.MapTrajectory, got a list"
    ):
        bf.plots.loss(blank, [run(np.zeros(1), np.ones(1))])  # type: ignore[arg-type]
    invalid("has no finite time", bf.plots.loss, blank, run(np.array([np.inf]), np.ones(1)))
    invalid("no point of Trajectory", bf.plots.loss, blank, run(np.zeros(1), np.ones(1)), log_time=True)


def test_a_run_chooses_its_axes(axes):
    """The loss falls by four decades, half of it in a hundredth of the time: logarithmic, both."""
    ts = np.linspace(0, 100, 401)
    line = bf.plots.trajectory(axes, run(ts, np.exp(-ts) + 1e-4))
    assert (axes.get_xscale(), axes.get_yscale(), line.get_label()) == ("log", "log", "gradient descent")
    bf.plots.trajectory(axes, run(ts, 1 - ts / 200, "reduced_flow"), color="k")  # on the axes of the first
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert axes.lines[-1].get_color() == "k"


@pytest.mark.parametrize(
    ("loss", "scales"),
    [
        (lambda t: 1 - t / 20, ("linear", "linear")),
        (lambda t: np.exp(-t), ("linear", "log")),
        (lambda t: 1 + np.exp(-t / 0.1), ("log", "linear")),
        (lambda t: np.ones_like(t), ("linear", "linear")),
        (lambda t: np.maximum(1 - t / 5, 0), ("linear", "linear")),  # a loss of zero has no logarithm
    ],
)
def test_axes_show_where_the_loss_falls(axes, loss, scales):
    ts = np.linspace(0, 10, 201)
    bf.plots.trajectory(axes, run(ts, loss(ts)))
    assert (axes.get_xscale(), axes.get_yscale()) == scales


def test_one_saved_time_is_drawn_on_linear_axes(axes):
    bf.plots.trajectory(axes, run(np.zeros(1), np.ones(1)))
    assert (axes.get_xscale(), axes.get_yscale()) == ("linear", "linear")


@pytest.mark.parametrize("draw", [bf.plots.weights, bf.plots.spectra])
def test_other_objects_than_networks_are_refused(blank, draw):
    with pytest.raises(
        ValueError, match=r"network must be a bf.Network, got a Trajectory; .*trajectory\[-1\]"
    ):
        draw(blank, run(np.zeros(1), np.ones(1)))
