"""Descents with merged samples are those sample by sample, or samples are sorted again."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import floats, integers, sampled_from

import biasfree as bf
import oracles
from biasfree.dynamics import _policy as policy
from biasfree.dynamics._problem import params_of, problem_of
from biasfree.dynamics.descent._native_run import on_samples
from biasfree.dynamics.evaluate._merging import SampleMerging


@pytest.fixture(autouse=True)
def _small_problems_too(monkeypatch):
    """Merge also the samples of the small problems of a test, and sort them often."""
    monkeypatch.setattr(policy, "MERGED_UNITS", 0)
    monkeypatch.setattr(policy, "SORTING_COST", 100)
    monkeypatch.setattr(policy, "SORTED_SAMPLE_COST", 0)


def gathered(sizes, *, spread, leak=0.0, biased=False, seed=0):
    """A network whose neurons in every layer lie around ± one direction, up to `spread`."""
    rng = np.random.default_rng(seed)
    weights: list[np.ndarray] = []
    for inputs, outputs in pairwise(sizes):
        center = np.abs(rng.standard_normal(inputs)) if weights else rng.standard_normal(inputs)
        center /= np.linalg.norm(center)
        strength = rng.standard_normal(outputs)
        noise = rng.standard_normal((outputs, inputs)) * spread / np.sqrt(inputs)
        weights.append(strength[:, None] * center + np.abs(strength)[:, None] * noise)
    network = bf.Network(tuple(weights), leak=leak)
    return oracles.with_biases(network) if biased else network


def both_ways(network, data, **options):
    """A descent with merged samples, and the same sample by sample."""
    given = {"step": 0.02, "steps": 300, **options}
    with pytest.MonkeyPatch.context() as patch:
        merged = bf.gradient_descent(network, data, **given)
        patch.setattr(policy, "MERGED_UNITS", np.inf)
        return merged, bf.gradient_descent(network, data, **given)


def assert_equal(one, other):
    """Rounding, of some eps a step, grows along a path that decays by no more than the path itself."""
    for a, b in zip(
        (*one.weights, *(one.biases or ())), (*other.weights, *(other.biases or ())), strict=True
    ):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-12)
    np.testing.assert_allclose(one.loss, other.loss, rtol=1e-11)


#: Sizes, biases.
CASES = [((3, 8, 1), False), ((3, 8, 2), True), ((3, 6, 6, 1), False), ((3, 6, 6, 6, 2), True)]


@settings(max_examples=40, deadline=None)
@given(
    case=sampled_from(CASES),
    kind=sampled_from(["Gaussian", "mirrored", "repeated", "flat"]),
    leak=floats(0, 0.9),
    spread=sampled_from([0.0, 1e-3, 1e-2, 0.1]),
    l2=sampled_from([0.0, 0.1]),
    seed=integers(0, 2**31),
)
def test_descent_with_merged_samples_is_descent(case, kind, leak, spread, l2, seed):
    """Any depth, outputs, biases, leak and decay; all states, some of which are saved where samples are
    sorted again."""
    (sizes, biased), data = case, oracles.random_data(200, 3, outputs=case[0][-1], seed=seed)
    if kind == "mirrored":
        data = bf.data.symmetrize(data)
    elif kind == "repeated":
        data = bf.Dataset(np.concatenate([data.x, 2 * data.x]), np.concatenate([data.y, -data.y]))
    elif kind == "flat":
        data = bf.Dataset(data.x * np.array([1.0, 1.0, 0.0]), data.y)
    network = gathered(sizes, spread=spread, leak=leak, biased=biased, seed=seed)
    step = min(0.02, 0.5 / bf.sharpness(network, data, l2=l2))  # a quarter of the largest stable one
    merged, plain = both_ways(network, data, step=step, steps=100, l2=l2)
    assert len(merged) == len(plain) == 101
    assert plain.stats.by_class == 0
    assert_equal(merged, plain)


@pytest.mark.parametrize(("sizes", "biased"), CASES)
def test_samples_are_merged_where_neurons_align(sizes, biased):
    data = oracles.random_data(300, 3, outputs=sizes[-1], seed=1)
    network = gathered(sizes, spread=1e-3, leak=0.1, biased=biased, seed=1)
    merged, plain = both_ways(network, data, step=0.002, save_every=50)
    assert merged.stats.by_class > 50
    assert merged.stats.by_class + merged.stats.dense == merged.stats.evaluations
    assert_equal(merged, plain)


def test_none_are_merged_where_patterns_are_diverse():
    data, network = oracles.random_data(300, 10, seed=1), bf.networks.gaussian((10, 40, 1), scale=1.0, seed=1)
    assert bf.gradient_descent(network, data, step=0.01, steps=40).stats.by_class == 0


@pytest.mark.parametrize("loss", ["square", "logistic"])
def test_only_the_square_loss_merges_samples(loss):
    data = oracles.random_data(300, 3, labels=True, seed=1)
    run = bf.gradient_descent(gathered((3, 8, 1), spread=1e-3), data, step=0.01, steps=40, loss=loss)
    assert (run.stats.by_class > 0) == (loss == "square")


def sorted_at(network, data):
    """The deepest level of samples merged at a network whose neurons turn by 1e-5 a step."""
    turned = bf.Network((network.weights[0] + 1e-5, *network.weights[1:]), leak=network.leak)
    problem = problem_of(network, data, loss="square", l2=0.0, train=None)
    field, _ = on_samples(problem, network, data)
    samples = SampleMerging(field.shape, field.rays, evaluations=1)
    return samples.sort(params_of(network), params_of(turned), 1)


def test_the_margin_is_sharp_in_the_plane():
    """Neurons along ±(0, 1), and samples on a circle at an angle of at least ½ from their hyperplane: the
    margin is |q·ζ|/(|q||ζ|) of the nearest sample, from the axes of all samples, within the factor by which
    those of one side differ."""
    angles = np.linspace(0.5, np.pi - 0.5, 150)
    x = np.column_stack([np.cos(angles), np.sin(angles)])
    data = bf.data.symmetrize(bf.Dataset(x, np.arange(150.0)))
    first = np.outer([1.0, -2.0, 1.0, -1.0, 3.0, -1.0, 1.0, -1.0], [0.0, 1.0])
    network = bf.Network((first, np.linspace(1.0, 0.5, 8)[None]))
    level, life = sorted_at(network, data)
    assert level is not None
    root = np.sqrt(np.linalg.eigvalsh(data.x.T @ data.x))  # axes of the samples are those of the plane
    nearest = (x[0] / root)[1] / np.linalg.norm(x[0] / root)
    assert len(level.left) == 0
    # half of all samples are on a side; neurons of both directions last as long, and turn by 1e-5/(1 ± 1e-5)
    assert nearest / np.sqrt(2) * (1 - 3e-5) <= level.margin.min()
    assert level.margin.max() <= nearest * (1 + 1e-9)
    assert life > 1000


def test_a_row_of_zeros_is_merged_while_it_is_one():
    """A neuron at w = 0, and neurons of a second layer behind gates that are all closed on one side."""
    data = oracles.random_data(300, 3, seed=1)
    first, second = gathered((3, 8, 1), spread=1e-3).weights
    at_rest = np.array(first)
    at_rest[3] = 0.0
    one_sided = np.abs(gathered((3, 6, 6, 1), spread=1e-3).weights[0][:, :1]) * np.array([1.0, 0.2, 0.1])
    for weights in ((at_rest, second), (one_sided, *gathered((3, 6, 6, 1), spread=1e-3).weights[1:])):
        merged, plain = both_ways(bf.Network(weights), data, save_every=50)
        assert merged.stats.by_class > 0
        assert_equal(merged, plain)


def run_of_small_weights(**options):
    """Neurons turn toward two directions, and grow there."""
    network = bf.networks.gaussian((3, 8, 1), scale=1e-3, seed=1)
    return both_ways(network, oracles.random_data(300, 3, seed=1), step=0.05, steps=1500, **options)


def test_samples_are_sorted_again_as_neurons_turn(monkeypatch):
    """Neurons that turn far cross the hyperplanes of samples; no saved state is lost where they do."""
    made, sort = [], SampleMerging.sort

    def noted(self, *given):
        made.append(sort(self, *given))
        return made[-1]

    monkeypatch.setattr(SampleMerging, "sort", noted)
    merged, plain = run_of_small_weights(save_every=1)
    assert sum(level is not None for level, _ in made) > 5
    assert len(merged) == len(plain) == 1501
    assert_equal(merged, plain)


def test_the_same_bits_twice():
    """Counts of steps alone decide when samples are sorted."""
    runs = [run_of_small_weights(save_every=300)[0] for _ in range(2)]
    assert runs[0].stats.by_class == runs[1].stats.by_class > 0
    for a, b in zip(runs[0].weights, runs[1].weights, strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_run_that_diverges_with_merged_samples_says_so():
    data = oracles.random_data(300, 3, seed=1)
    with pytest.raises(bf.dynamics.DivergenceError, match="diverged at step"):
        bf.gradient_descent(gathered((3, 8, 1), spread=1e-3), data, step=30.0, steps=400)


def test_descent_with_merged_samples_reaches_the_levels_at_the_same_steps():
    """The loss with merged samples is the loss sample by sample, up to rounding, and is never taken where
    patterns may have changed."""
    data = oracles.random_data(300, 3, seed=1)
    network = bf.networks.gaussian((3, 8, 1), scale=1e-2, seed=0)
    every = bf.gradient_descent(network, data, step=0.02, steps=3000)
    assert every.stats.by_class > 0
    levels = [float(every.loss[i] + every.loss[i + 1]) / 2 for i in (500, 1250, 2000)]
    run = bf.gradient_descent(network, data, step=0.02, steps=3000, save_every=3000, until=levels)
    np.testing.assert_array_equal(run.stats.reached, every.ts[[501, 1251, 2001]])
