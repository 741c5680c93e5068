"""Hyperplanes in classes: the same forces and flow as one by one, and a certificate that is exact."""

from functools import partial

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import booleans, floats, integers, sampled_from

import biasfree as bf
import oracles
from biasfree.dynamics._problem import float64
from biasfree.dynamics.flow import _driver as integrate
from biasfree.dynamics.flow._loop import advance
from biasfree.dynamics.flow._system import EXPIRED, initial_loop
from biasfree.dynamics.flow.events import _driver as events
from biasfree.dynamics.flow.events import _hyperplane_sorting as line_sorting
from biasfree.dynamics.flow.events import _layout as layout
from biasfree.dynamics.flow.events import _rays as rays
from biasfree.dynamics.flow.events._hyperplane_classes import Classes

EPS = np.finfo(float).eps
ALWAYS, NEVER = 0, 2**62


@pytest.fixture
def eager(monkeypatch):
    """Use classes also for small problems, and hyperplanes in chunks of sixteen."""
    monkeypatch.setattr(layout, "LEAST_WORK", ALWAYS)
    monkeypatch.setattr(rays, "CHUNK_LINES", 16)
    monkeypatch.setattr(layout.Layout, "patience", 4)
    return monkeypatch


def near_alignment(sizes, *, spread, leak, biased, seed):
    """Neurons around two directions, as far from them as `spread`."""
    rng, (inputs, width, outputs) = np.random.default_rng(seed), sizes
    columns = inputs + biased
    axes = rng.normal(size=(2, columns))
    units = axes[rng.integers(2, size=width)] * rng.choice([-1.0, 1.0], size=(width, 1))
    hidden = rng.uniform(0.1, 1, (width, 1)) * (units + spread * rng.normal(size=(width, columns)))
    outer = rng.normal(size=(outputs, width))
    biases = (hidden[:, -1], rng.normal(size=outputs)) if biased else None
    return bf.Network((hidden[:, :inputs], outer), leak=leak, biases=biases)


def sorted_kinks(network, data):
    """The flow of a network with hyperplanes one by one, and with classes, or None if there are none."""
    options = {"loss": "square", "l2": 0.0, "train": (True, True), "most_events": None, "slots": 4}
    dense, sorted_ = (events.EventDriver(network, data, **options) for _ in range(2))
    hidden = events._hidden(sorted_.params)
    found = sorted_.layout.look(hidden, 1e-4 * hidden[:, ::-1], 1.0)
    return dense, sorted_, found


@partial(jax.jit, static_argnames="system")
def velocity(system, params, memory, given):
    return system.evaluate(params, memory, given)[0], system.loss(params, given)


@settings(deadline=None, max_examples=25)
@given(
    seed=integers(0, 2**31),
    spread=floats(0, 1e-3),
    leak=floats(0, 1),
    biased=booleans(),
    sizes=sampled_from([(3, 8, 1), (4, 6, 2)]),
)
def test_classes_have_the_forces_of_their_hyperplanes(seed, spread, leak, biased, sizes):
    with pytest.MonkeyPatch.context() as patch, float64():
        patch.setattr(layout, "LEAST_WORK", ALWAYS)
        patch.setattr(rays, "CHUNK_LINES", 16)
        patch.setattr(line_sorting, "SORTING_COST", 0.0)
        network = near_alignment(sizes, spread=spread, leak=leak, biased=biased, seed=seed)
        data = oracles.random_data(96, sizes[0], outputs=sizes[2], seed=seed % 7)
        dense, by_class, found = sorted_kinks(network, data)
        assert found is not None
        assert len(found.remainder) < 96
        signs = by_class.layout.change(found, by_class.memory.signs)
        given_ = by_class.layout.placed(by_class.constraints.given)
        expected, loss = velocity(dense.system, dense.params, dense.memory, dense.given)
        got, same = velocity(dense.system, dense.params, dense.memory._replace(signs=signs), given_)
    # A sum of n rounded terms errs by n·eps times the sum of their sizes: here n is the lines, the neurons
    # and the dimensions, and the terms are |c|(|y| + Σ_h|a_h||w_h||c|)/P; a least-squares map is at most 1e3
    # times as large as the targets it fits.
    hidden, outer = events._hidden(dense.params), np.abs(network.weights[1])
    lengths = np.linalg.norm(np.column_stack([data.x, np.ones(len(data))]) if biased else data.x, axis=1)
    shift = np.abs(network.biases[1]).sum() if network.biases else 0.0
    reach = lengths * (outer @ np.linalg.norm(hidden, axis=1)).sum() + shift
    size = np.mean((1 + lengths) * (np.abs(data.targets).sum(axis=1) * 1e3 + reach))
    rounding = 8 * (96 + sum(sizes)) * EPS * size
    for one, other in zip(jax.tree.leaves(got), jax.tree.leaves(expected), strict=True):
        factor = 1 + np.abs(outer).max() + np.linalg.norm(hidden, axis=1).max()
        assert np.abs(np.asarray(one) - np.asarray(other)).max() <= rounding * factor
    # the loss is a sum of squares of such terms
    top = np.mean((np.abs(data.targets).sum(axis=1) * 1e3 + reach) ** 2)
    np.testing.assert_allclose(same, loss, rtol=0, atol=8 * (96 + sum(sizes)) * EPS * top)
    np.testing.assert_array_equal(by_class.layout.signs(signs), dense.layout.signs(dense.memory.signs))


def turned(angle):
    """One neuron that has turned by `angle` from the axis (1, 0) towards (0, 1)."""
    return np.array([[[np.cos(angle), np.sin(angle)]]])


@pytest.mark.parametrize("margin", [1e-9, 1e-3, 0.3, 1.5])
def test_the_certificate_ends_where_the_first_hyperplane_is_reached(margin):
    """A hyperplane whose normal is `margin` from orthogonal to the neuron is reached by a turn of
    `margin`."""
    normal = np.array([np.sin(margin), -np.cos(margin)])
    one = np.ones((1, 1))
    classes = Classes(1, one, one, one, one, np.array([[1.0, 0.0]]), np.array([np.tan(margin - 1e-13)]))
    with float64():
        before, after = turned(margin * (1 - 1e-3) - 2e-13), turned(margin * (1 + 1e-3))
        assert bool(classes.hold(before))
        assert before[0, 0] @ normal > 0
        assert not bool(classes.hold(after))
        assert after[0, 0] @ normal < 0
        # as a whole: between two directions inside there is no other, and one outside is enough
        assert not bool(classes.hold(np.concatenate([before, after])))
        assert not bool(classes.hold(-before))


def test_sorting_certifies_exactly_the_hyperplanes_in_classes(eager):
    """The reach is the angle of the nearest hyperplane in a class; nearer ones are in the remainder."""
    eager.setattr(line_sorting, "SORTING_COST", 0.0)
    network = near_alignment((3, 8, 1), spread=1e-4, leak=0.0, biased=False, seed=0)
    _, by_class, found = sorted_kinks(network, oracles.random_data(96, 3, seed=0))
    assert found is not None
    units = found.classes.axis
    np.testing.assert_allclose(np.linalg.norm(units, axis=1), 1, rtol=1e-14)
    angle = np.arcsin(np.abs(by_class.lines.normals @ units.T))
    inside = found.member >= 0
    # rounded by 1e-13 and 8·D·eps, on purpose
    np.testing.assert_allclose(np.arctan(found.classes.reach), angle[inside].min(axis=0), rtol=0, atol=2e-13)
    assert (np.arctan(found.classes.reach) < angle[inside].min(axis=0)).all()
    assert sorted([*found.remainder, *np.flatnonzero(inside)]) == list(range(len(angle)))


def watched(patch, network, data, ts, **options):
    """A flow, and the codes with which its compiled calls ended."""
    codes = []

    def call(*args):
        found = advance(*args)
        codes.append(int(found[0].code))
        return found

    patch.setattr(integrate, "advance", call)
    return bf.gradient_flow(network, data, ts, method="events", **options), codes


@pytest.mark.parametrize(
    ("options", "leak", "turns"),
    [({}, 0.0, True), ({"l2": 0.01}, 0.3, True), ({"train": (True, False)}, 0.0, False)],
    ids=["plain", "l2", "first layer"],
)
def test_a_flow_with_classes_is_the_flow_without(eager, options, leak, turns):
    data, ts = bf.data.odd_sine(n=160, d=3, seed=0), np.linspace(0, 40, 9)
    network = bf.networks.gaussian((3, 12, 1), scale=1e-5, leak=leak, seed=2)
    if options.get("train"):
        network = bf.Network((network.weights[0], 1e5 * network.weights[1]), leak=leak)
    run, codes = watched(eager, network, data, ts, rtol=1e-6, **options)
    eager.setattr(layout, "LEAST_WORK", NEVER)
    dense, _ = watched(eager, network, data, ts, rtol=1e-6, **options)
    assert 0 < run.stats.by_class < run.stats.evaluations
    assert dense.stats.by_class == 0
    # expired classes were renewed: the run is by class again afterwards
    assert not turns or EXPIRED in codes[:-1]
    assert run.stats.accepted == dense.stats.accepted
    # the flow grows by 1e5 relative to nothing: rounding is relative to the weights, of some hundred steps
    assert oracles.distance(run, dense) < 1e-10
    np.testing.assert_allclose(run.loss, dense.loss, rtol=1e-10)
    np.testing.assert_allclose(run.loss, [oracles.loss(n, data) for n in run], rtol=1e-10)


def test_events_in_classes_are_decided_one_by_one(eager):
    """Neurons that slide and are released while other hyperplanes are in classes."""
    eager.setattr(line_sorting, "SORTING_COST", 0.0)
    data = oracles.random_data(64, 2, seed=3)
    network = bf.networks.balanced((2, 6, 1), scale=1.0, seed=1)
    run, _ = watched(eager, network, data, np.linspace(0, 20, 5))
    eager.setattr(layout, "LEAST_WORK", NEVER)
    dense, _ = watched(eager, network, data, np.linspace(0, 20, 5))
    assert run.stats.by_class > 0
    assert run.stats.events["slides"] > 0
    assert run.stats.events == dense.stats.events
    # events are located to 2^−50 of a step or a hundredth of the tolerance, 1e-9, whichever comes first
    assert oracles.distance(run, dense) < 1e-7


def test_diverse_neurons_have_no_classes(eager):
    run, _ = watched(
        eager,
        bf.networks.gaussian((5, 40, 1), scale=1.0, seed=0),
        oracles.random_data(64, 5, seed=0),
        [0, 0.2],
        rtol=1e-5,
    )
    assert run.stats.by_class == 0


def test_logistic_losses_have_no_classes(eager):
    data = bf.data.odd_sine(n=40, d=3, seed=0)
    labeled = bf.Dataset(data.x, np.sign(data.y))
    network = bf.networks.gaussian((3, 6, 1), scale=1e-3, seed=0)
    run, _ = watched(eager, network, labeled, [0, 10], rtol=1e-5, loss="logistic")
    assert run.stats.by_class == 0


@pytest.mark.usefixtures("eager")
def test_the_compiled_loop_calls_nothing_outside():
    """No host callback: such programs are never cached."""
    network, data = bf.networks.gaussian((3, 6, 1), scale=0.1), bf.data.odd_sine(n=40, d=3, seed=0)
    kinks = events.EventDriver(
        network, data, loss="square", l2=0.0, train=(True, True), most_events=None, slots=4
    )
    limits = integrate.Limits(1e-6, 1e-6, 10)
    with float64():
        tolerance = integrate.tolerance_of(kinks.params, limits)
        times = integrate.block(np.array([1.0]), 4)
        loop = initial_loop(kinks.params, kinks.memory)
        text = advance.lower(kinks.system, kinks.given, loop, *times, tolerance, -np.inf, 10).as_text()
    assert "callback" not in text
    assert "custom_call" not in text
