"""ReLU networks of opposite neurons stay on their linear twin under every optimizer of the theory."""

import inspect
from typing import Any

import numpy as np
import optax
import pytest
from hypothesis import given, settings
from hypothesis.strategies import floats, integers, sampled_from
from numpy.testing import assert_allclose

import biasfree as bf
from biasfree.theory import optimizer_twin, twin_hyperparameters
from refusals import refused

STEPS, WIDTH = 60, 6
MADE: dict[str, Any] = {
    "sgd": lambda learning_rate, momentum=0.0, nesterov=False: optax.sgd(
        learning_rate, momentum=momentum, nesterov=nesterov
    ),
    "adam": optax.adam,
    "adamw": optax.adamw,
}
CASES: list[tuple[str, Any, Any]] = [
    ("sgd", {"learning_rate": 0.1}, {}),
    ("sgd", {"learning_rate": 0.05, "momentum": 0.9}, {}),
    ("sgd", {"learning_rate": 0.05, "momentum": 0.9}, {"nesterov": True}),
    ("adam", {"learning_rate": 0.02, "eps": 1e-3}, {}),
    ("adamw", {"learning_rate": 0.02, "eps": 1e-3, "weight_decay": 0.3}, {}),
    ("adamw", {"learning_rate": 0.02, "eps": 1e-3}, {}),
]


def gap(network, data, name, values, more, **options):
    """The largest |√c·W − W_lin| over |W_lin| along the path."""
    twin, theirs = optimizer_twin(network, data, name, **values)
    run = bf.optimize(network, data, MADE[name](**values, **more), steps=STEPS, save_every=10, **options)
    linear = bf.optimize(twin, data, MADE[name](**theirs, **more), steps=STEPS, save_every=10, **options)
    c = np.sqrt((1 + network.leak) / 2)
    apart = [np.abs(c * a - b).max() for a, b in zip(run.weights, linear.weights, strict=True)]
    return max(apart) / max(np.abs(w).max() for w in linear.weights)


@settings(max_examples=12)
@given(case=sampled_from(CASES), leak=floats(0, 1), seed=integers(0, 2**31))
def test_opposite_pairs_stay_on_their_twin(case, leak, seed):
    """To rounding, 1e-16 per step and operation; ε = 1e-3 keeps Adam's division from enlarging it."""
    data = bf.data.odd_sine(n=6, d=3, seed=seed)
    network = bf.networks.opposite((3, WIDTH, 1), scale=0.7, leak=leak, seed=seed)
    batch = 4 if CASES.index(case) % 2 else None  # batches are the same for every rule: each compiles once
    assert gap(network, data, *case, batch_size=batch, seed=seed) < 1e-11


@pytest.mark.parametrize("case", CASES[:3], ids=["descent", "momentum", "Nesterov"])
def test_rank_one_stays_on_its_twin_with_momentum_and_not_with_adam(case):
    data = bf.data.odd_sine(n=6, d=3, seed=1)
    network = bf.networks.rank_one([1.0, 0.3, -0.2], width=WIDTH, scale=0.7, seed=1)
    relaxed = {"opposite_tolerance": 1.0}
    twin, theirs = optimizer_twin(network, data, case[0], **case[1], **relaxed)
    run = bf.optimize(network, data, MADE[case[0]](**case[1], **case[2]), steps=STEPS, save_every=STEPS)
    linear = bf.optimize(twin, data, MADE[case[0]](**theirs, **case[2]), steps=STEPS, save_every=STEPS)
    assert_allclose(np.sqrt(0.5) * run.weights[0], linear.weights[0], atol=1e-12)
    adam = bf.optimize(network, data, optax.adam(0.02), steps=STEPS, save_every=STEPS)
    theirs_adam: Any = twin_hyperparameters("adam", 0.0, learning_rate=0.02)
    twin_adam = bf.optimize(twin, data, optax.adam(**theirs_adam), steps=STEPS)
    assert np.abs(np.sqrt(0.5) * adam[-1].weights[0] - twin_adam[-1].weights[0]).max() > 1e-3


def test_batches_that_split_pairs_leave_the_twin():
    data = bf.data.odd_sine(n=6, d=3, seed=1)
    network = bf.networks.opposite((3, WIDTH, 1), scale=0.7, seed=1)
    values = {"learning_rate": 0.1}
    assert gap(network, data, "sgd", values, {}, batch_size=4, pairs=True) < 1e-12
    assert gap(network, data, "sgd", values, {}, batch_size=4, pairs=False) > 1e-3


def test_hyperparameters():
    """c = 1/2 for ReLU; a linear network is its own twin."""
    root = np.sqrt(0.5)
    found = twin_hyperparameters("adamw", 0.0, learning_rate=0.1, eps=1e-8, weight_decay=0.2, b1=0.9)
    assert found == pytest.approx(
        {"learning_rate": 0.1 * root, "eps": 1e-8 / root, "weight_decay": 0.2 / root, "b1": 0.9}
    )
    assert twin_hyperparameters("sgd", 0.0, learning_rate=0.1, l2=0.3) == pytest.approx(
        {"learning_rate": 0.05, "l2": 0.6}
    )
    assert twin_hyperparameters("sgd", 0.5) == {}


@pytest.mark.parametrize("name", ["adam", "adamw"])
def test_defaults_of_optax_change_too(name):
    """A linear network is its own twin: what is added is what optax takes anyway."""
    added = twin_hyperparameters(name, 1.0, learning_rate=0.1)
    taken = {key: one.default for key, one in inspect.signature(MADE[name]).parameters.items()}
    assert added.pop("learning_rate") == 0.1
    assert added == {key: taken[key] for key in ("eps", "weight_decay") if key in taken}
    data = bf.data.odd_sine(n=6, d=3, seed=1)
    network = bf.networks.opposite((3, WIDTH, 1), scale=0.7, seed=1)
    # to rounding, as above
    assert gap(network, data, name, {"learning_rate": 0.02}, {}) < 1e-11


def test_refusals():
    data, network = bf.data.odd_sine(n=6, d=3, seed=1), bf.networks.gaussian((3, WIDTH, 1), scale=1.0, seed=0)
    with pytest.raises(
        bf.AssumptionError, match=r"neurons in opposite pairs.*initialize with bf\.networks\.opposite"
    ):
        optimizer_twin(network, data, "adam")
    refused("every mirror image", optimizer_twin, network, bf.Dataset(data.x[:5], data.y[:5]), "adam")
    with pytest.raises(
        ValueError, match=r"one of sgd, adam, adamw, got 'momentum'.*is \"sgd\" with momentum="
    ):
        twin_hyperparameters("momentum", 0.0)
    with pytest.raises(ValueError, match="nothing is known of momentum under adam; known are learning_rate"):
        twin_hyperparameters("adam", 0.0, momentum=0.9)
