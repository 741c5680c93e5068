"""Infinite data in small: few dimensions, samples and seeds; and the derived laws on their own."""

import numpy as np
import pytest

import biasfree as bf
from biasfree_papers.population import teachers
from biasfree_papers.population.response import Response, transition


def test_numbers(numbers):
    assert numbers.square.sizes == {"samples": 2, "seed": 2, "time": numbers.sizes["time"]}
    assert numbers.specialized.dims == ("scale", "student_seed")
    assert (numbers.linear_square <= numbers.square * (1 + 1e-9)).all()


def test_the_response_is_the_derivative_of_the_sampled_flow():
    """Four points with Σ = I and y = β·x, moved by ε: what the response misses is of second order in ε."""
    rng, beta = np.random.default_rng(0), np.array([0.9, 0.3])
    x, moves = np.sqrt(2) * np.vstack([np.eye(2), -np.eye(2)]), rng.normal(size=(4, 3))
    population = bf.data.Population(2, linear=beta)
    network = bf.networks.rank_one(beta, width=2, scale=1e-2)
    ts = transition(network, population) * np.linspace(0.2, 2.5, 9)
    response, missed = Response.of(network, population, ts), []
    exact = bf.theory.white_flow(network, population, ts).maps[:, 0]
    for size in (1e-3, 1e-4):
        data = bf.Dataset(x + size * moves[:, :2], x @ beta + size * moves[:, 2])
        run = bf.gradient_flow(network, data, ts, rtol=1e-10)
        maps = np.transpose(run.weights[1], (0, 2, 1)) * run.weights[0]  # of each neuron, on its half-space
        found = np.sqrt(np.mean(np.sum((maps - exact[:, None]) ** 2, axis=2), axis=1))
        missed.append(np.abs(found / response.distance(data) - 1).max())
    assert missed[0] < 0.1
    assert missed[1] / missed[0] == pytest.approx(0.1, rel=0.2)


def test_the_mean_over_samples_is_the_law():
    """Of predicted squares, from the moments of 400 samples, within five standard errors."""
    population = bf.data.Population(3, linear=[0.5, 0.4, 0.2], noise=0.3)
    network = bf.networks.rank_one(population.beta, width=2, scale=1e-2)
    ts = transition(network, population) * np.linspace(0.3, 2.5, 6)
    response = Response.of(network, population, ts)
    squares = np.array([response.distance(population.sample(50, seed=i)) ** 2 for i in range(400)])
    error = squares.std(axis=0) / np.sqrt(len(squares))
    law = response.mean_square(population).sum(axis=0) / 50
    assert (np.abs(squares.mean(axis=0) - law) <= 5 * error).all()


@pytest.mark.parametrize("count", [2, 3, 5])
def test_the_plateau_is_the_best_network_of_parallel_neurons(count):
    """Its loss, and the rates κ and λ, from differences of exact losses."""
    population = teachers.task(6, count)
    known = teachers.plateau(population, count)
    middle = np.ones(count) / np.sqrt(count)

    def force(row):
        """E[yσ(w·x)], from the slope of the loss in a small output weight."""
        losses = [
            bf.diagnostics.square_loss(bf.Network((row[None], [[a]])), population) for a in (1e-3, -1e-3)
        ]
        return (losses[1] - losses[0]) / 2e-3

    def turned(angle):
        across = np.zeros(6)
        across[:2] = np.array([1, -1]) / np.sqrt(2)
        return np.cos(angle) * np.append(middle, np.zeros(6 - count)) + np.sin(angle) * across

    assert known.growth == pytest.approx(force(turned(0.0)), rel=1e-9)
    curvature = (force(turned(1e-2)) + force(turned(-1e-2)) - 2 * force(turned(0.0))) / 1e-4
    assert known.turning == pytest.approx(-curvature, rel=1e-3)
    best = bf.Network((turned(0.0)[None], [[2 * known.growth]]))
    assert known.loss == pytest.approx(bf.diagnostics.square_loss(best, population), rel=1e-12)
