"""Optimizers of optax against PyTorch's and against descent; batches in mirror pairs; refusals."""

from itertools import pairwise
from typing import Any

import numpy as np
import optax
import pytest
import torch

import biasfree as bf
import oracles

STEPS = 200


def problem(seed=0, leak=0.3, width=8):
    data = bf.data.odd_sine(n=8, d=3, seed=seed)
    return bf.networks.gaussian((3, width, 1), scale=0.8, leak=leak, seed=seed), data


def by_torch(network, data, optimizer, steps):
    """The weights after the steps of an optimizer of PyTorch, in float64."""
    weights = [torch.tensor(np.array(w), requires_grad=True) for w in network.weights]
    x, y = torch.tensor(np.array(data.x)), torch.tensor(np.array(data.targets))
    made = optimizer(weights)
    for _ in range(steps):
        made.zero_grad()
        hidden = torch.nn.functional.leaky_relu(x @ weights[0].T, network.leak)
        loss = ((hidden @ weights[1].T - y) ** 2).sum() / (2 * len(x))
        loss.backward()
        made.step()
    return [w.detach().numpy() for w in weights]


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (optax.sgd(0.05), lambda w: torch.optim.SGD(w, lr=0.05)),
        (optax.sgd(0.02, momentum=0.9), lambda w: torch.optim.SGD(w, lr=0.02, momentum=0.9)),
        (
            optax.sgd(0.02, momentum=0.9, nesterov=True),
            lambda w: torch.optim.SGD(w, lr=0.02, momentum=0.9, nesterov=True),
        ),
        (optax.adam(1e-2), lambda w: torch.optim.Adam(w, lr=1e-2)),
        (
            optax.adamw(1e-2, weight_decay=0.1),
            lambda w: torch.optim.AdamW(w, lr=1e-2, weight_decay=0.1),
        ),
    ],
    ids=["descent", "momentum", "Nesterov", "Adam", "AdamW"],
)
def test_steps_are_those_of_pytorch(ours, theirs):
    """200 steps on a smooth path; each adds some roundings, 1e-16 of the weights."""
    network, data = problem()
    run = bf.optimize(network, data, ours, steps=STEPS, save_every=STEPS)
    for found, expected in zip(run[-1].weights, by_torch(network, data, theirs, STEPS), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12 * np.abs(expected).max())
    np.testing.assert_array_equal(run.ts, [0, STEPS])


@pytest.mark.parametrize("loss", ["square", "huber"])
def test_plain_sgd_on_all_samples_is_descent(loss):
    network, data = problem()
    options: Any = {"steps": 300, "save_every": 100, "l2": 0.01, "loss": loss}
    one = bf.optimize(network, data, optax.sgd(0.1), **options)
    other = bf.gradient_descent(network, data, step=0.1, **options)
    np.testing.assert_allclose(one.loss, other.loss, rtol=1e-12)
    np.testing.assert_allclose(one.objective, other.objective, rtol=1e-12)
    np.testing.assert_array_equal(one.ts, [0, 100, 200, 300])


def test_batches_are_reproducible_and_runs_of_a_list_share_them():
    network, data = problem()
    options: Any = {"steps": 40, "save_every": 20, "batch_size": 4}
    one, two = (bf.optimize(network, data, optax.adam(1e-2), seed=3, **options) for _ in range(2))
    other = bf.optimize(network, data, optax.adam(1e-2), seed=4, **options)
    np.testing.assert_array_equal(one.weights[0], two.weights[0])
    assert np.abs(one.weights[0] - other.weights[0]).max() > 1e-6
    both = bf.optimize([network, problem(1)[0]], data, optax.adam(1e-2), seed=3, **options)
    np.testing.assert_allclose(both[0].weights[0], one.weights[0], rtol=1e-13)


@pytest.mark.usefixtures("little_memory")
def test_runs_that_do_not_fit_the_memory_together_share_the_batches():
    (one, data), (other, _) = problem(), problem(1)
    options: Any = {"steps": 40, "save_every": 20, "batch_size": 4, "seed": 3}
    both = bf.optimize([one, other], data, optax.adam(1e-2), **options)
    for run, network in zip(both, (one, other), strict=True):
        alone = bf.optimize(network, data, optax.adam(1e-2), **options)
        np.testing.assert_array_equal(run.weights[0], alone.weights[0])


def test_an_epoch_sees_every_pair_once():
    """Each step of length h goes along the slope of one mirror pair, and eight of them along those of all."""
    network, data = problem()
    h, pairs = 0.1, bf.data.mirror_pairs(data)
    assert pairs is not None
    run = bf.optimize(network, data, optax.sgd(h), steps=24, batch_size=2)
    seen = []
    for before, after in pairwise(run):
        moved = after.weights[0] - before.weights[0]
        rows = [bf.Dataset(data.x[[i, j]], data.y[[i, j]]) for i, j in zip(*pairs, strict=True)]
        slopes = [oracles.gradients(*oracles.layers(before), before.leak, each)[0][0] for each in rows]
        gaps = [np.abs(moved + h * slope).max() for slope in slopes]
        assert min(gaps) < 1e-14
        seen.append(int(np.argmin(gaps)))
    for epoch in (seen[:8], seen[8:16], seen[16:]):
        assert sorted(epoch) == list(range(8))


def test_until_save_and_fixed_layers():
    network, data = problem()
    run = bf.optimize(
        network, data, optax.adam(1e-2), steps=500, save_every=10, until=0.5 * float(np.mean(data.y**2) / 2)
    )
    assert run.stats.stopped == "loss level reached"
    assert run.ts[-1] < 500
    measured = bf.optimize(network, data, optax.adam(1e-2), steps=10, save=lambda one: one.norms[0])
    assert np.asarray(measured.saved).shape == (11,)
    fixed = bf.optimize(network, data, optax.adamw(1e-2, weight_decay=0.1), steps=50, train=[True, False])
    np.testing.assert_array_equal(fixed[-1].weights[1], network.weights[1])
    assert np.abs(fixed[-1].weights[0] - network.weights[0]).max() > 1e-3


def test_refusals():
    network, data = problem()
    generic = bf.Dataset(data.x[:5], data.y[:5])
    cases: list[tuple[bf.Dataset, Any, str]] = [
        (data, {"batch_size": 3}, "a batch of mirror pairs has an even size, got batch_size=3"),
        (data, {"batch_size": 400}, "batch_size is 400, but the data have 16 samples in mirror pairs"),
        (data, {"batch_size": 17, "pairs": False}, "batch_size is 17, but the data have 16 samples"),
        (generic, {"batch_size": 2}, "pairs=True needs data in which every sample"),
    ]
    for given, options, message in cases:
        with pytest.raises(ValueError, match=message):
            bf.optimize(network, given, optax.sgd(0.1), steps=3, **options)
    for wrong in ("adam", 0.1, torch.optim.Adam):
        with pytest.raises(ValueError, match=r"optimizer must be an optimizer of optax, such as optax.adam"):
            bf.optimize(network, data, wrong, steps=3)
    with pytest.raises(ValueError, match=r"such as optax.adam\(1e-3\), got the function adam; call it\."):
        bf.optimize(network, data, optax.adam, steps=3)
    needs_more = "must take its steps from gradients and weights alone, as .* does, but it says: .*'value'"
    for needy in (optax.lbfgs(), optax.polyak_sgd()):
        with pytest.raises(ValueError, match=needs_more):
            bf.optimize(network, data, needy, steps=3)
    with pytest.raises(ValueError, match=r"but it says: Expected dict, got Params"):
        bf.optimize(network, data, optax.multi_transform({"a": optax.sgd(0.1)}, {"b": "a"}), steps=3)
    infinite: Any = bf.data.Population(3)
    with pytest.raises(
        ValueError, match=r"needs samples, got a Population; use population\.sample\(n, seed\)"
    ):
        bf.optimize(network, infinite, optax.sgd(0.1), steps=3)
    with pytest.raises(
        bf.dynamics.DivergenceError, match=r"training diverged before step 200: .* smaller learning rate"
    ):
        bf.optimize(network, data, optax.sgd(1e3), steps=200, save_every=200)
