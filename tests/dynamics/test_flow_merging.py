"""Deep flows whose rays are merged where they share an activation pattern."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import biasfree as bf
import oracles
from biasfree.dynamics.flow._flow import Limits
from biasfree.dynamics.flow.events import _merging, _patterns
from biasfree.dynamics.flow.events._merging import MergingFlow

flow = partial(bf.gradient_flow, method="events")


@pytest.fixture(autouse=True)
def _small_flows_too(monkeypatch):
    monkeypatch.setattr(_merging, "LEAST_UNITS", 0)


def problem(seed, *, leak=0.0, inputs=2, outputs=1, depth=3, samples=300, scale=1.0):
    """A deep network in few dimensions, where many samples share a pattern, and its data."""
    data = oracles.random_data(samples, inputs, outputs=outputs, labels=False, seed=seed)
    sizes = (inputs, *(7, 6, 5)[: depth - 1], outputs)
    return bf.networks.gaussian(sizes, scale=scale, seed=seed, leak=leak), data


def flow_of(network, data, **options):
    given = {"loss": "square", "l2": 0.0, "train": (True,) * network.depth, "most_events": None, **options}
    return MergingFlow(network, data, Limits(1e-3, 1e-3, 100), **given)


def ray_by_ray(network, data, ts, **options):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_merging, "LEAST_UNITS", np.inf)
        return flow(network, data, ts, **options)


def error_of(network, data, ts, *runs):
    """The errors of the steps of all runs, as far as they may grow along the path: up to three times as much
    as two random changes of all the weights, which have little of the direction that grows most."""
    exact = ray_by_ray(network, data, ts, rtol=1e-6)
    grown = oracles.growth(lambda other: ray_by_ray(other, data, ts, rtol=1e-6), network, exact)
    return 3 * grown * sum(run.stats.error for run in runs)


def signs_of(network, x):
    """Where hidden units are active, (units, samples)."""
    active, a = [], x.T
    for w in network.weights[:-1]:
        z = w @ a
        active.append(z > 0)
        a = np.where(z > 0, z, network.leak * z)
    return np.concatenate(active)


def network_at(theta, network):
    parts = np.split(theta, np.cumsum([w.size for w in network.weights])[:-1])
    weights = tuple(part.reshape(w.shape) for part, w in zip(parts, network.weights, strict=True))
    return bf.Network(weights, leak=network.leak)


@settings(deadline=None, max_examples=40)
@given(
    seed=st.integers(0, 2**31),
    leak=st.sampled_from([0.0, 0.3]),
    sizes=st.sampled_from([(2, 1, 3), (2, 2, 4), (3, 1, 3)]),
    l2=st.sampled_from([0.0, 0.1]),
    scale=st.floats(1e-3, 2.0),
    mirrored=st.booleans(),
    change=st.floats(0.0, 1.0),
)
def test_merged_rays_have_the_velocity_of_all_at_any_weights(seed, leak, sizes, l2, scale, mirrored, change):
    """At constant signs, and so also where units are beyond their hyperplanes."""
    inputs, outputs, depth = sizes
    network, data = problem(seed, leak=leak, inputs=inputs, outputs=outputs, depth=depth, scale=scale)
    one = flow_of(network, bf.data.symmetrize(data) if mirrored else data, l2=l2)
    theta = one.theta + change * scale * np.random.default_rng(seed).normal(size=one.theta.shape)
    one._examine(theta)
    before, rays = one._out.copy(), len(one.rays.orient)
    one._merge(one.theta)  # as if units did not turn
    assert len(one.rays.orient) < rays
    one._examine(theta)
    # the same sums over rays in another order: rounding of the sum of all terms without their signs, which
    # layers of norm |W| and the residual bound
    norms = [np.linalg.norm(w) for w in network_at(theta, network).weights]
    terms = np.abs(data.x).max() * (np.abs(data.y).max() + np.prod(norms)) * np.prod(norms) / min(norms)
    np.testing.assert_allclose(one._out, before, rtol=0, atol=rays * np.finfo(float).eps * terms)
    one._separate()
    one._examine(theta)
    np.testing.assert_array_equal(one._out, before)


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 2**31),
    leak=st.sampled_from([0.0, 0.3]),
    sizes=st.sampled_from([(2, 3), (2, 4), (3, 3)]),
    change=st.floats(-5.0, -0.5),
    longer=st.floats(0.1, 10.0),
)
def test_the_certificate_refuses_weights_at_which_a_unit_is_on_another_side(
    seed, leak, sizes, change, longer
):
    inputs, depth = sizes
    network, data = problem(seed, leak=leak, inputs=inputs, depth=depth)
    one = flow_of(network, data)
    rays = one.rays
    one._merge(one.theta)
    assert one._patterns is not None
    one._examine(longer * one.theta)
    assert one._holds()  # nothing has turned
    direction = np.random.default_rng(seed).normal(size=one.theta.shape)
    moved = one.theta + 10**change * np.linalg.norm(one.theta) / np.linalg.norm(direction) * direction
    one._examine(longer * moved)
    merged = np.delete(np.arange(len(rays.orient)), one._patterns.which)
    x = (rays.orient * rays.normals[:, rays.line]).T[merged]
    same = signs_of(network_at(moved, network), x) == signs_of(network, x)
    assert same.all() or not one._holds()


def test_the_certificate_holds_nearly_until_a_unit_is_on_another_side():
    """One neuron of the first layer turns, to either side, and with it the inputs of the layers above."""
    network, data = problem(0, samples=2000)
    one = flow_of(network, data)
    rays = one.rays
    one._merge(one.theta)
    assert one._patterns is not None
    merged = np.delete(np.arange(len(rays.orient)), one._patterns.which)
    x = (rays.orient * rays.normals[:, rays.line]).T[merged]
    before, (a, b) = signs_of(network, x), one.theta[:2]

    def at(angle):
        theta = one.theta.copy()
        theta[:2] = np.cos(angle) * a - np.sin(angle) * b, np.sin(angle) * a + np.cos(angle) * b
        one._examine(theta)
        return one._holds(), (signs_of(network_at(theta, network), x) == before).all()

    angles = np.geomspace(1e-6, 1.0, 200)
    found = np.array([[at(angle), at(-angle)] for angle in angles])
    held, same = found[:, :, 0].all(axis=1), found[:, :, 1].all(axis=1)
    assert angles[same].max() / 2 < angles[held].max() <= angles[same].max()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("leak", "outputs", "depth"), [(0.0, 1, 3), (0.3, 2, 4)])
def test_flows_with_merged_rays_are_flows_of_all(seed, leak, outputs, depth):
    """Steps may differ where one is tried again; each flow is within its error of the path."""
    network, data = problem(seed, leak=leak, outputs=outputs, depth=depth)
    ts = np.linspace(0, 3, 4)
    run, each = (kind(network, data, ts, rtol=1e-3) for kind in (flow, ray_by_ray))
    assert run.stats.by_class > 0
    assert each.stats.by_class == 0
    assert oracles.distance(run, each) <= error_of(network, data, ts, run, each)
    losses = [oracles.loss(net, data) for net in run]
    np.testing.assert_allclose(run.loss, losses, rtol=1e-12)


def test_rays_that_hold_for_no_step_are_separated_again(monkeypatch):
    network, data = problem(1)
    monkeypatch.setattr(_patterns, "LEAST_STEPS", 0)  # merged however soon units will pass them
    run, each = (kind(network, data, [0.0, 3.0], rtol=1e-3) for kind in (flow, ray_by_ray))
    assert run.stats.rejected > each.stats.rejected
    assert oracles.distance(run, each) <= error_of(network, data, [0.0, 3.0], run, each)


def test_merged_flows_have_the_same_bits_twice_and_in_a_list():
    networks, data = [problem(seed)[0] for seed in range(3)], problem(0)[1]
    runs = bf.gradient_flow(networks, data, [0.0, 2.0], method="events", rtol=1e-3)
    assert all(run.stats.by_class > 0 for run in runs)
    for network, run in zip(networks, runs, strict=True):
        again = flow(network, data, [0.0, 2.0], rtol=1e-3)
        assert all((a == b).all() for a, b in zip(run.weights, again.weights, strict=True))


def test_inputs_that_are_zero_by_structure_stay_so():
    """Middle layers of two blocks, [ZSL25] Prop. 12: units of one block see nothing of half of the rays."""
    data = bf.data.linear_teacher(150, 3, seed=0)
    network = bf.networks.low_rank(data.beta, widths=(6, 6), scale=0.6, seed=0)
    run, each = (kind(network, data, [0.0, 4.0], rtol=1e-4) for kind in (flow, ray_by_ray))
    assert run.stats.by_class > 0
    assert oracles.distance(run, each) <= (run.stats.error or 0.0) + (each.stats.error or 0.0)
    assert (run.weights[1][-1][network.weights[1] == 0] == 0).all()


@pytest.mark.parametrize("kind", ["logistic", "biases"])
def test_what_moments_do_not_describe_is_evaluated_ray_by_ray(kind):
    network, data = problem(0)
    if kind == "biases":
        run = flow(oracles.with_biases(network), data, [0.0, 3.0], rtol=1e-3)
    else:
        run = flow(network, bf.Dataset(data.x, np.sign(data.y)), [0.0, 3.0], loss="logistic", rtol=1e-3)
    assert run.stats.accepted > _merging.PATIENCE
    assert run.stats.by_class == 0


def test_rays_are_not_merged_while_a_unit_slides():
    one = flow_of(*problem(0))
    one._constrain([one._unit(0, 0)])
    one._merge(one.theta)
    assert one.rays.single == len(one.rays.orient)


def test_evaluations_by_class_are_counted():
    network, data = problem(0)
    one = flow_of(network, data)
    one._merge(one.theta)
    before = np.array([one.evaluations, one.by_class])
    one._examine(one.theta)
    assert ([one.evaluations, one.by_class] - before == 1).all()
