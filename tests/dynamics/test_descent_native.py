"""Native descent: one program for all shapes, the same iteration as NumPy's and JAX's."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import biasfree as bf
import oracles
from biasfree.dynamics.network import _layout as layout

EPS = np.finfo(float).eps


@st.composite
def problems(draw):
    """Networks of one to four layers of any widths, on any number of samples."""
    size = st.integers(1, 17)
    sizes = [draw(st.integers(1, 9)), *draw(st.lists(size, max_size=3)), draw(st.integers(1, 3))]
    loss, seed = draw(st.sampled_from(["square", "logistic", "huber"])), draw(st.integers(0, 2**31))
    leak = draw(st.sampled_from([0.0, 0.3, 1.0]))
    network = bf.networks.gaussian(sizes, scale=1.5, leak=leak, seed=seed)
    network = oracles.with_biases(network) if draw(st.booleans()) else network
    data = oracles.random_data(draw(size), sizes[0], outputs=sizes[-1], labels=loss == "logistic", seed=seed)
    return network, data, loss, draw(st.sampled_from([0.0, 0.1]))


def arrays(network):
    return [*network.weights, *(network.biases or ())]


@settings(max_examples=60, deadline=None)
@given(problems(), st.sampled_from([1, 40, 2**16]))
def test_loss_and_steps_are_those_of_numpy_at_any_shape(problem, chunk):
    """Loss and slope separately: the loss at both saved states, and two steps of weights and biases."""
    network, data, loss, l2 = problem
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(layout, "CHUNK", chunk)  # a sample at a time, some, or all
        run = bf.gradient_descent(network, data, step=0.02, steps=2, save_every=2, loss=loss, l2=l2)
    weights, biases = oracles.descended(network, data, step=0.02, steps=2, kind=loss, l2=l2)
    expected = weights + (biases if network.biases else [])
    # sums of at most 17 terms in each of four layers, forward and back, of values below 1e3
    for found, mine in zip(arrays(run[-1]), expected, strict=True):
        np.testing.assert_allclose(found, mine, rtol=0, atol=1e3 * 17 * 8 * EPS)
    np.testing.assert_allclose(run.loss, [oracles.loss(run[i], data, loss) for i in (0, 1)], rtol=1e-12)
    penalties = [oracles.penalty(run[i], l2) for i in (0, 1)]
    np.testing.assert_allclose(run.objective, run.loss + penalties, rtol=1e-12)


def test_a_new_shape_compiles_nothing(count_compilations):
    """Other samples, inputs, widths, outputs, depths, losses and biases: one program."""

    def descend(sizes, loss="square"):
        network = bf.networks.gaussian(sizes, scale=0.5, seed=0)
        data = oracles.random_data(4 + len(sizes), sizes[0], outputs=sizes[-1], labels=loss == "logistic")
        for one in (network, oracles.with_biases(network)):
            bf.gradient_descent(one, data, step=0.1, steps=3, loss=loss)

    descend((2, 6, 1))
    assert count_compilations(lambda: descend((5, 3, 8, 2), "logistic")) == 0
    assert count_compilations(lambda: descend((3, 1), "huber")) == 0


@pytest.mark.parametrize("threads", [1, 3])
def test_a_list_gives_the_bits_of_single_runs(use_threads, threads):
    use_threads(threads)
    data = oracles.random_data(9, 3, seed=0)
    networks = [bf.networks.gaussian((3, 13, 1), scale=0.5, leak=0.1, seed=seed) for seed in range(5)]
    runs = bf.gradient_descent(networks, data, step=0.1, steps=300, save_every=50)
    for run, network in zip(runs, networks, strict=True):
        alone = bf.gradient_descent(network, data, step=0.1, steps=300, save_every=50)
        for one, other in zip((*run.weights, run.loss), (*alone.weights, alone.loss), strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("sizes", "mirrored"),
    [((3, 40, 1), True), pytest.param((3, 20, 20, 2), False, marks=pytest.mark.slow)],
)
def test_both_engines_take_the_same_steps(request, sizes, mirrored):
    """200 steps of a few eps each, which a stable descent does not amplify a hundredfold."""
    network = bf.networks.gaussian(sizes, scale=0.7, leak=0.2, seed=3)
    data = oracles.random_data(50, 3, outputs=sizes[-1], seed=4)
    data = bf.data.symmetrize(data) if mirrored else data
    native = bf.gradient_descent(network, data, step=0.05, steps=200, save_every=40)
    request.getfixturevalue("in_jax")
    jax = bf.gradient_descent(network, data, step=0.05, steps=200, save_every=40)
    np.testing.assert_allclose(native.loss, jax.loss, rtol=1e-11)
    assert oracles.distance(native, jax) < 200 * 100 * EPS


@pytest.mark.parametrize("leak", [0.0, 1.0])
def test_large_descents_are_those_of_jax(request, leak):
    """2¹⁸ activations in chunks; JAX's programs take the same steps."""
    network = bf.networks.gaussian((4, 256, 1), scale=1.0, leak=leak, seed=1)
    data = oracles.random_data(1024, 4)
    native = bf.gradient_descent(network, data, step=0.1, steps=3)
    request.getfixturevalue("in_jax")
    with_jax = bf.gradient_descent(network, data, step=0.1, steps=3)
    # sums of 1024 terms of order one, each rounded
    np.testing.assert_allclose(native.loss, with_jax.loss, rtol=1024 * EPS)
    assert oracles.distance(native, with_jax) < 1024 * EPS
