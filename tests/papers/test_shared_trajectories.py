"""What several experiments share."""

from dataclasses import replace

import numpy as np

import biasfree as bf
from biasfree.trajectory import Stats, Trajectory
from biasfree_papers.shared import trajectories as measures


def test_a_run_without_an_error_estimate_proves_nothing():
    zero, weights = np.zeros(1), (np.ones((1, 2, 2)), np.ones((1, 1, 2)))
    run = Trajectory(zero, weights, zero, zero, 0.0, Stats(method="none"))
    assert measures.accuracy(run) == np.inf
    assert measures.accuracy(replace(run, stats=Stats(method="some", error=0.5))) == 0.5


def test_the_weight_gap_is_that_of_all_weights_in_a_row():
    one, other = (bf.networks.gaussian((3, 5, 1), scale=1.0, seed=seed) for seed in (0, 1))
    flat = [np.concatenate([w.ravel() for w in network.weights]) for network in (one, other)]
    np.testing.assert_allclose(measures.weight_gap(one, other), np.linalg.norm(flat[0] - flat[1]), rtol=1e-14)


def test_least_squares_is_the_least_loss_of_linear_maps():
    data = bf.data.odd_sine(20, 3, seed=0)
    best = np.linalg.solve(data.sigma, data.beta)
    losses = [np.mean((data.y - data.x @ (best + shift)) ** 2) / 2 for shift in 0.1 * np.eye(4, 3, k=-1)]
    np.testing.assert_allclose(measures.least_squares_loss(data), losses[0], rtol=1e-12)
    assert (losses[0] < losses[1:]).all()
