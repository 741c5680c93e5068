"""Flows of several networks, each at its own times."""

from typing import assert_type

import numpy as np
import pytest

import biasfree as bf

DATA = bf.data.six_points()
NETWORKS = [bf.networks.gaussian((2, 4, 1), scale=0.3, seed=seed) for seed in range(3)]
TIMES = [[0.0, 0.5, 1.0], [2.0], np.array([0.25, 4.0])]


@pytest.mark.parametrize("data", [DATA, [DATA] * 3])
@pytest.mark.parametrize("method", ["auto", "events"])
def test_every_network_has_its_own_times(data, method):
    runs = bf.gradient_flow(NETWORKS, data, TIMES, method=method)
    assert_type(runs, list[bf.Trajectory])
    for run, network, ts in zip(runs, NETWORKS, TIMES, strict=True):
        np.testing.assert_array_equal(run.ts, ts)
        alone = bf.gradient_flow(network, DATA, ts, method=method)
        np.testing.assert_array_equal(run.loss, alone.loss)
        np.testing.assert_array_equal(run[-1].weights[0], alone[-1].weights[0])


def test_lists_of_equal_length_and_matrices():
    rows = [[0.0, 1.0], [0.0, 2.0], [0.0, 3.0]]
    for ts in (rows, np.array(rows), tuple(map(tuple, rows))):
        runs = bf.gradient_flow(NETWORKS, DATA, ts)
        assert [run.ts.tolist() for run in runs] == rows
    shared = bf.gradient_flow(NETWORKS, DATA, [0.0, 1.0])
    assert [run.ts.tolist() for run in shared] == [[0.0, 1.0]] * 3


def test_infinite_data_too():
    population = bf.data.Population.linear_teacher(2)
    runs = bf.gradient_flow(NETWORKS[:2], population, [[0.0, 1.0], [0.5]])
    alone = bf.gradient_flow(NETWORKS[1], population, [0.5])
    assert [run.ts.tolist() for run in runs] == [[0.0, 1.0], [0.5]]
    np.testing.assert_array_equal(runs[1].loss, alone.loss)


@pytest.mark.parametrize(
    ("ts", "message"),
    [
        ([[0.0, 1.0], [0.0, 2.0]], "got 3 networks but 2 lists of times; give as many, or one for all"),
        ([[0.0, 1.0], [2.0, 1.0], [1.0]], "ts must be strictly increasing, got 2.0 followed by 1.0"),
        ([[0.0], 1.0, [2.0]], "ts must be an array of numbers, got rows of different lengths"),
        ([], "ts must be a one-dimensional array of at least one time"),
    ],
)
def test_wrong_lists_are_refused(ts, message):
    with pytest.raises(ValueError, match=message):
        bf.gradient_flow(NETWORKS, DATA, ts)


def test_one_network_takes_one_list():
    with pytest.raises(ValueError, match=r"ts must be a one-dimensional array .* got shape \(1, 2\)"):
        bf.gradient_flow(NETWORKS[0], DATA, [[0.0, 1.0]])
