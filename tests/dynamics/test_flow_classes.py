"""Neurons in activation classes: the velocity and the flow of all units one by one, within exact cones."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import booleans, floats, integers, sampled_from

import biasfree as bf
import oracles
from biasfree.dynamics.flow._flow import Limits
from biasfree.dynamics.flow.events import _class_flow as class_flow
from biasfree.dynamics.flow.events import _cones as cones
from biasfree.dynamics.flow.events import _sorting as sorting
from biasfree.dynamics.flow.events import _two_layers as two_layers
from biasfree.dynamics.flow.events._sorting import Sorter
from biasfree.dynamics.flow.native._classes import class_loss, class_velocity
from biasfree.dynamics.flow.native._layout import rays_of

EPS = np.finfo(float).eps
ALWAYS, NEVER = 0, 2**62


@pytest.fixture
def eager(monkeypatch):
    """Use classes also for small problems."""
    monkeypatch.setattr(class_flow, "LEAST_UNITS", ALWAYS)
    return monkeypatch


def near_alignment(sizes, *, spread, leak, seed, outliers=0):
    """Neurons around two directions, as far from them as `spread`; the first ones point anywhere."""
    rng, (inputs, width, outputs) = np.random.default_rng(seed), sizes
    units = rng.normal(size=(2, inputs))[rng.integers(2, size=width)]
    units[:outliers] = rng.normal(size=(outliers, inputs))
    hidden = rng.uniform(0.1, 1, (width, 1)) * (units + spread * rng.normal(size=(width, inputs)))
    return bf.Network((hidden, rng.normal(size=(outputs, width))), leak=leak)


def flow_of(network, data, loss="square", l2=0.0):
    how = {"loss": loss, "l2": l2, "train": (True, True), "most_events": None}
    return two_layers.TwoLayerFlow(network, data, Limits(1e-6, 1e-6, 1000), **how)


@settings(deadline=None, max_examples=40)
@given(
    seed=integers(0, 2**31),
    spread=floats(0, 0.1),
    leak=floats(0, 0.99),
    l2=sampled_from([0.0, 0.3]),
    logistic=booleans(),
    outliers=sampled_from([0, 3]),
    mirrored=booleans(),
    sizes=sampled_from([(3, 20, 1), (4, 17, 2), (1, 9, 1)]),
)
def test_velocity_and_loss_by_class_are_those_of_all_units(
    seed, spread, leak, l2, logistic, outliers, mirrored, sizes
):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(class_flow, "LEAST_UNITS", ALWAYS)
        patch.setattr(class_flow, "WORTH", 2.0)  # any classes there are
        network = near_alignment(sizes, spread=spread, leak=leak, seed=seed, outliers=outliers)
        data = oracles.random_data(150, sizes[0], outputs=sizes[2], labels=logistic, seed=seed % 7)
        if mirrored:
            data = bf.Dataset(np.concatenate([data.x, -data.x]), np.concatenate([data.y, data.y]))
        kind = "logistic" if logistic else "square"
        flow = flow_of(network, data, kind, l2)
        out = np.zeros(len(flow.theta))
        wrong = class_velocity(flow.theta, flow.shape, flow.groups, flow.buffers, out)
        loss = class_loss(flow.theta, flow.shape, flow.groups, flow.buffers)
    assert wrong == 0
    assert flow.groups.stay[0] == 1
    # a sum of n rounded terms errs by n·eps times the sum of their sizes: neurons, samples, dimensions
    terms = len(data) + sum(sizes)
    x, y = np.linalg.norm(data.x, axis=1), np.abs(data.targets).sum(axis=1)
    w, a = np.linalg.norm(network.weights[0], axis=1), np.abs(network.weights[1]).sum(axis=0)
    reach = y + x * (w @ a)
    rounding = 8 * terms * EPS * (np.mean(x * reach) * (1 + w.max() + a.max()) + l2 * (w.max() + a.max()))
    slopes = oracles.gradients(*oracles.layers(network), network.leak, data, kind, l2)[0]
    expected = -np.concatenate([slope.ravel() for slope in slopes])
    assert np.abs(out - expected).max() <= rounding
    np.testing.assert_allclose(
        loss, oracles.loss(network, data, kind), rtol=0, atol=8 * terms * EPS * np.mean((1 + reach) ** 2)
    )


@pytest.mark.usefixtures("eager")
def test_aligned_neurons_make_the_cost_independent_of_the_samples():
    """Without outliers the far rays are merged: as many as inputs per pattern, however many samples."""
    network = near_alignment((3, 20, 1), spread=1e-6, leak=0.2, seed=1)
    sizes = [flow_of(network, bf.data.odd_sine(n=n, d=3, seed=0)).groups for n in (200, 2000)]
    assert [len(groups.outliers) for groups in sizes] == [0, 0]
    few, many = (len(groups.far.orient) for groups in sizes)
    assert few == many <= 2**2 * 3


@pytest.mark.parametrize("margin", [1e-7, 1e-3, 0.3])
def test_the_cones_end_at_the_nearest_far_hyperplane(margin):
    """Neurons along (1, 0), and a hyperplane whose normal is `margin` from orthogonal to them."""
    angles = np.array([np.pi / 2 - margin, 0.3, 1.1])
    x = np.column_stack([np.cos(angles), np.sin(angles)])
    hidden = np.tile([1.0, 0.0], (8, 1))
    data, network = bf.Dataset(x, np.ones(3)), bf.Network((hidden, np.ones((1, 8))))
    found = Sorter(rays_of(network, data, "square", smooth=False)[0], 1).sort(hidden, hidden, 2.0)
    assert found is not None
    assert found[0].reach == pytest.approx(np.tan(margin), rel=1e-9)
    for turn, inside in ((margin * (1 - 1e-6), True), (margin * (1 + 1e-6), False)):
        turned = np.array([np.cos(turn), -np.sin(turn)])
        assert (turned @ x[0] > 0) == inside
        flow = flow_of(bf.Network((np.tile(turned, (8, 1)), np.ones((1, 8)))), data)
        flow.groups, flow.buffers = found[0], class_flow.buffers_for(found[0], 8, 1)
        class_loss(flow.theta, flow.shape, flow.groups, flow.buffers)
        assert bool(found[0].stay[0]) == inside
        found[0].stay[0] = 1


def turned(weights, angle, seed):
    """All weights turned by the same angle, in the plane of the first one and a random direction."""
    rng, u = np.random.default_rng([seed, 1]), weights[0] / np.linalg.norm(weights[0])
    v = rng.normal(size=len(u))
    v -= (v @ u) * u
    v /= np.linalg.norm(v)
    along, across = weights @ u, weights @ v
    return (
        weights
        + np.outer(along * (np.cos(angle) - 1) - across * np.sin(angle), u)
        + np.outer(along * np.sin(angle) + across * (np.cos(angle) - 1), v)
    )


@settings(deadline=None, max_examples=30)
@given(
    seed=integers(0, 2**31),
    spread=sampled_from([0.0, 1e-6, 1e-3]),
    turn=floats(1e-4, 0.1),
    fraction=floats(0, 3),
    sizes=sampled_from([(3, 20, 1), (4, 17, 2)]),
    few=booleans(),
)
def test_no_neuron_of_a_class_is_wrong_unnoticed(seed, spread, turn, fraction, sizes, few):
    """Neurons that turn together, farther than foreseen, too: on middle lines units that are wrong are
    counted, and on far ones there are none as long as neurons stay in their cones. Whether all lines are
    looked at or, the second time, `few`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sorting, "MANY_LINES", 0 if few else NEVER)
        patch.setattr(sorting, "ONE_IN", 2)
        network = near_alignment(sizes, spread=spread, leak=0.2, seed=seed)
        data = oracles.random_data(200, sizes[0], outputs=sizes[2], seed=seed % 7)
        flow, w = flow_of(network, data), network.weights[0]
        sorter = sorting.Sorter(flow.rays, sizes[2])
        for now in (w, turned(w, turn / 4, seed)):
            found = sorter.sort(now, turned(now, turn, seed), 2.0)
        if found is None:
            return
    groups, buffers = found[0], class_flow.buffers_for(found[0], sizes[1], sizes[2])
    for part in (0.0, fraction):
        then = turned(now, part * turn, seed)
        theta, out = np.concatenate([then.ravel(), network.weights[1].ravel()]), np.zeros(len(flow.theta))
        groups.stay[0] = 1
        counted = class_velocity(theta, flow.shape, groups, buffers, out)
        counted -= np.count_nonzero(buffers.near.sz < buffers.near.bound[:, None])
        counted -= np.count_nonzero(buffers.far.sz < buffers.far.bound[:, None])
        if groups.stay[0]:
            inside = groups.group >= 0
            z = then[inside] @ groups.far.normals[:, : groups.middle]
            signs = groups.signs[groups.group[inside], : groups.middle]
            assert np.count_nonzero(z * signs < 0) <= counted
            places = np.setdiff1d(flow.rays.line, flow.rays.line[np.append(groups.near_at, groups.far_at)])
            sides = np.sign(now[inside] @ flow.rays.normals[:, places])
            assert (sides == np.sign(then[inside] @ flow.rays.normals[:, places])).all()


def test_a_class_crosses_hyperplanes_as_its_neurons_do(eager):
    """Neurons that have aligned turn together, across many hyperplanes."""
    middle, buffers_for = [], class_flow.buffers_for

    def noted(groups, *rest):
        middle.append(groups.middle)
        return buffers_for(groups, *rest)

    eager.setattr(class_flow, "buffers_for", noted)
    data, ts = bf.data.odd_sine(n=300, d=4, seed=0), np.linspace(0, 40, 5)
    network = bf.networks.gaussian((4, 16, 1), scale=1e-6, seed=1)
    run = bf.gradient_flow(network, data, ts, method="events", rtol=1e-4)
    assert max(middle) > 50
    eager.setattr(class_flow, "LEAST_UNITS", NEVER)
    dense = bf.gradient_flow(network, data, ts, method="events", rtol=1e-4)
    assert dense.stats.by_class == 0
    assert oracles.distance(run, dense) < 2e-4  # each path is within its rtol


@pytest.mark.parametrize(
    ("options", "leak"),
    [({}, 0.0), ({"l2": 0.01}, 0.3), ({"train": (True, False)}, 0.0), ({"loss": "logistic"}, 0.1)],
    ids=["plain", "l2", "first layer", "logistic"],
)
def test_a_flow_with_classes_is_the_flow_without(eager, options, leak):
    data, ts = bf.data.odd_sine(n=60, d=3, seed=0), np.linspace(0, 40, 9)
    if "loss" in options:
        data = bf.Dataset(data.x, np.sign(data.y))
    network = bf.networks.gaussian((3, 12, 1), scale=1e-5, leak=leak, seed=2)
    if options.get("train"):
        network = near_alignment((3, 12, 1), spread=0.01, leak=leak, seed=2)
    run = bf.gradient_flow(network, data, ts, method="events", rtol=1e-6, **options)
    eager.setattr(class_flow, "LEAST_UNITS", NEVER)
    dense = bf.gradient_flow(network, data, ts, method="events", rtol=1e-6, **options)
    assert run.stats.by_class > 0
    assert dense.stats.by_class == 0
    # kinks are located to within their budget, a third of the local tolerance of 1e-7, in some hundred steps
    assert oracles.distance(run, dense) < 1e-5
    np.testing.assert_allclose(run.loss, [oracles.loss(n, data, options.get("loss", "square")) for n in run])


@pytest.mark.parametrize(("scale", "outputs", "still"), [(1e-7, 1, True), (0.5, 1, False), (1e-7, 2, False)])
def test_residuals_stand_still_within_a_step_while_outputs_are_small(eager, scale, outputs, still):
    """Then a step evaluates at its ends only, not in each of its six stages; with several outputs it has no
    pulls that could stand still."""
    data = oracles.random_data(40, 3, outputs=outputs, seed=0)
    network = bf.networks.gaussian((3, 12, outputs), scale=scale, seed=2)
    run = bf.gradient_flow(network, data, [0, 1.0], method="events", rtol=1e-6)
    steps = run.stats.accepted + run.stats.rejected
    # after a kink the start of a step is evaluated too
    assert (run.stats.evaluations <= 2 * steps + run.stats.events["crossings"] + 1) == still
    assert still or run.stats.evaluations >= 6 * steps
    eager.setattr(class_flow, "LEAST_UNITS", NEVER)
    dense = bf.gradient_flow(network, data, [0, 1.0], method="events", rtol=1e-6)
    assert oracles.distance(run, dense) < 2e-6  # each path is within its rtol


def test_neurons_that_slide_leave_the_classes(eager):
    data = oracles.random_data(64, 2, seed=3)
    network = bf.networks.balanced((2, 6, 1), scale=1.0, seed=1)
    run = bf.gradient_flow(network, data, np.linspace(0, 20, 5), method="events")
    eager.setattr(class_flow, "LEAST_UNITS", NEVER)
    dense = bf.gradient_flow(network, data, np.linspace(0, 20, 5), method="events")
    assert run.stats.events["slides"] == dense.stats.events["slides"] > 0
    # the budget of kinks is 3e-10 of the weights per step, in a thousand steps
    assert oracles.distance(run, dense) < 1e-7


def test_diverse_neurons_have_no_classes(eager):
    network, data = bf.networks.gaussian((5, 40, 1), scale=1.0, seed=0), oracles.random_data(64, 5, seed=0)
    assert not flow_of(network, data).groups.classes
    assert bf.gradient_flow(network, data, [0, 0.2], rtol=1e-5, method="events").stats.by_class == 0
    eager.setattr(cones, "NEAR", -1.0)  # one cone for all: every line is near
    assert not flow_of(network, data).groups.classes
