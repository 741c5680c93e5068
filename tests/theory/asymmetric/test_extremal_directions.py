"""Extremal directions: all of them in the plane, certified ones above, and where neurons go."""

import itertools

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis.strategies import integers, sampled_from
from numpy.testing import assert_allclose

import biasfree as bf
from biasfree.theory import extremal_directions
from refusals import invalid

seeds = integers(0, 2**31)


def force(r, x, e, leak=0.0):
    """G(r) = ⟨eσ(r·x)⟩, as it is defined."""
    z = r @ x.T
    return np.mean(e * np.where(z > 0, z, leak * z), axis=-1)


def circle(angles):
    return np.stack([np.cos(angles), np.sin(angles)], axis=-1)


def apart(angle, others):
    """The least angle between a direction of the plane and others."""
    return np.abs((angle - others + np.pi) % (2 * np.pi) - np.pi).min(initial=np.inf)


def generic(seed, *, samples=8, dimensions=2):
    rng = np.random.default_rng(seed)
    return bf.Dataset(rng.normal(size=(samples, dimensions)), rng.normal(size=samples))


@settings(max_examples=150)
@given(samples=integers(1, 9), leak=sampled_from([0.0, 0.1, 0.7, 1.0]), seed=seeds)
def test_the_plane_against_a_grid(samples, leak, seed):
    """Every maximum of a grid is beside one that is returned, and near each of those nothing is higher."""
    data, spacing = generic(seed, samples=samples), 2 * np.pi / 3000
    found = extremal_directions(data, leak=leak)
    assert found.complete
    grid = np.arange(3000) * spacing
    for sign in (1, -1):
        angles = found.angles[found.signs == sign]
        heights = sign * force(circle(grid), data.x, data.y, leak)
        top = (heights > np.roll(heights, 1)) & (heights > np.roll(heights, -1)) & (heights > 1e-9)
        assert all(apart(angle, angles) <= spacing for angle in grid[top])
        for angle, rate in zip(angles, found.rates[found.signs == sign], strict=True):
            around = sign * force(circle(angle + np.array([-1e-6, 1e-6])), data.x, data.y, leak)
            # sums of at most 9 products of order 1 are rounded; a slope of 1e-8 would show
            assert rate == pytest.approx(sign * force(circle(angle), data.x, data.y, leak), abs=1e-14)
            assert (around < rate + 1e-14).all()


@settings(max_examples=30)
@given(dimensions=integers(3, 6), samples=integers(1, 14), leak=sampled_from([0.0, 0.4, 1.0]), seed=seeds)
@example(dimensions=3, samples=5, leak=0.0, seed=1434)  # a moment almost orthogonal to its hyperplane
def test_certified_extrema_are_extrema(dimensions, samples, leak, seed):
    """No tangent leads up from any of them, to first order and to second."""
    data = generic(seed, samples=samples, dimensions=dimensions)
    found = extremal_directions(data, leak=leak, starts=12)
    rng = np.random.default_rng(seed)
    for r, sign, rate, slides in zip(found.directions, found.signs, found.rates, found.sliding, strict=True):
        v = rng.normal(size=(300, dimensions))
        # tangents along the hyperplanes too, which random ones are not
        normals = data.x[slides]
        flat = v - (np.linalg.lstsq(normals.T, v.T, rcond=None)[0].T @ normals if len(normals) else 0)
        v = np.vstack([v, flat, data.x, -data.x])
        v -= np.outer(v @ r, r)
        v = v[np.linalg.norm(v, axis=1) > 1e-6]
        v /= np.linalg.norm(v, axis=1, keepdims=True)
        for step in (1e-5, 1e-7):
            near = np.cos(step) * r + np.sin(step) * v
            # rounding of sums of 14 products of size below 10
            assert (sign * force(near, data.x, data.y, leak) <= rate + 1e-14).all()
        assert np.linalg.norm(r) == pytest.approx(1, abs=1e-14)
        assert rate > 0
    assert (np.diff(found.rates) <= 0).all()


def test_ascents_are_many_where_they_are_cheap():
    """In five dimensions: by default all that 1000 others find, and more than 50 do."""
    data = generic(0, samples=12, dimensions=5)
    found, other = extremal_directions(data), extremal_directions(data, starts=1000, seed=1)
    assert not found.complete
    assert_allclose(found.rates, other.rates, rtol=1e-12)
    assert len(extremal_directions(data, starts=50)) < len(found)


def test_signs_and_rates():
    """One positive sample: a > 0 grows along it. Its target negated: a < 0 does. The leak turns −x."""
    x, y = np.array([[3.0, 4.0]]), np.array([2.0])
    found = extremal_directions(bf.Dataset(x, y))
    assert found.signs.tolist() == [1.0]
    assert_allclose(found.directions, [[0.6, 0.8]], rtol=1e-15)
    assert_allclose(found.rates, [10.0], rtol=1e-15)
    assert extremal_directions(bf.Dataset(x, -y)).signs.tolist() == [-1.0]
    leaky = extremal_directions(bf.Dataset(x, y), leak=0.2)
    assert leaky.signs.tolist() == [1.0, -1.0]
    assert_allclose(leaky.directions, [[0.6, 0.8], [-0.6, -0.8]], rtol=1e-15)
    assert_allclose(leaky.rates, [10.0, 2.0], rtol=1e-14)
    assert_allclose(leaky.directions[leaky.signs < 0], [[-0.6, -0.8]], rtol=1e-15)
    logistic = extremal_directions(bf.Dataset(x, y / 2), loss="logistic")
    assert_allclose(logistic.rates, [2.5], rtol=1e-15)  # e = y/2, y = 1


def test_a_kink_can_be_the_extremum():
    """Positive sample (1, 0), negative ones on both sides: neurons slide along the hyperplane of one."""
    data = bf.Dataset([[1.0, 0.0], [0.2, 1.0]], [1.0, -1.0])
    found = extremal_directions(data)
    kink = np.array([1.0, -0.2]) / np.hypot(1, 0.2)
    assert_allclose(found.directions[found.signs > 0], [kink], rtol=1e-15)
    assert found.sliding[found.signs == 1].tolist() == [[False, True]]
    assert found.active[found.signs == 1].tolist() == [[True, False]]


def test_maxima_at_which_neurons_shrink_are_left_out():
    """G(r) = −(|r₁| + σ(r₂))/3 has maxima at (0, ±1), of −1/3 and 0, and minima below zero."""
    data = bf.Dataset([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]], [-1.0, -1.0, -1.0])
    found = extremal_directions(data)
    assert found.signs.tolist() == [-1.0, -1.0]
    assert_allclose(found.rates, np.sqrt(2) / 3, rtol=1e-14)
    assert_allclose(np.sort(np.degrees(found.angles)), [45, 135], rtol=1e-14)


@pytest.mark.parametrize("dimensions", [1, 2, 3, 5])
def test_edges(dimensions):
    rng = np.random.default_rng(dimensions)
    x, y = rng.normal(size=(4, dimensions)), rng.normal(size=4)
    none = extremal_directions(bf.Dataset(x, 0 * y))
    assert len(none) == 0
    assert none.directions.shape == (0, dimensions)
    assert none.complete
    assert len(extremal_directions(bf.Dataset(0 * x, y))) == 0
    one = extremal_directions(bf.Dataset(x[:1], [1.0]))
    assert_allclose(one.directions, x[:1] / np.linalg.norm(x[:1]), rtol=1e-14)
    assert one.complete
    plain, leak = extremal_directions(bf.Dataset(x, y)), 0.3
    twice = extremal_directions(bf.Dataset(np.vstack([x, x]), np.append(y, y)))
    zeros = extremal_directions(bf.Dataset(np.vstack([x, x, 0 * x]), np.r_[y, 0 * y, y]))
    for other, share in ((twice, 1), (zeros, 1 / 3)):
        assert_allclose(other.directions, plain.directions, atol=1e-13)
        assert_allclose(other.rates, share * plain.rates, rtol=1e-12)
    odd = bf.Dataset(np.vstack([x, -x]), np.append(y, -y))
    found, beta = extremal_directions(odd, leak=leak), odd.beta / np.linalg.norm(odd.beta)
    assert found.signs.tolist() == [1.0, -1.0]
    assert_allclose(found.directions, [beta, -beta], atol=1e-12)
    assert_allclose(found.rates, (1 + leak) / 2 * np.linalg.norm(odd.beta), rtol=1e-13)


def test_symmetric_data_have_the_direction_of_the_aligned_network():
    data = bf.data.odd_sine(n=40, d=4, seed=3)
    network = bf.networks.gaussian((4, 12, 1), scale=1e-6, leak=0.2, seed=0)
    found = extremal_directions(data, leak=0.2)
    (row, other) = found.directions
    first = bf.theory.aligned(network, data).weights[0]
    cosines = first @ row / np.linalg.norm(first, axis=1)
    assert_allclose(np.abs(cosines), 1, rtol=1e-12)
    assert_allclose(other, -row, atol=1e-13)
    assert_allclose(found.rates, bf.theory.growth_rate(network, data), rtol=1e-12)


@pytest.mark.parametrize("size", [1e-150, 1e150])
def test_units(size):
    """Large and small inputs turn nothing."""
    data = generic(7)
    plain, scaled = extremal_directions(data), extremal_directions(bf.Dataset(size * data.x, data.y))
    assert_allclose(scaled.directions, plain.directions, rtol=1e-12)
    assert_allclose(scaled.rates, size * plain.rates, rtol=1e-12)


@pytest.mark.parametrize(
    ("seed", "dimensions", "leak"), [*itertools.product(range(6), [2], [0.0, 0.3]), (0, 3, 0.0), (1, 3, 0.2)]
)
def test_small_networks_go_there(seed, dimensions, leak):
    """Neurons at the end of the early phase of the exact flow, weights of 1e-20.

    While the activation pattern is fixed, w grows along its extremal direction and not across. So a neuron
    that grows F-fold from T/2 to T without a change of its pattern is within arcsin(1/F) of the direction.
    """
    data = generic(seed, dimensions=dimensions)
    found = extremal_directions(data, leak=leak)
    first, second = bf.networks.balanced((dimensions, 15, 1), scale=1e-20, leak=leak, seed=seed).weights
    network = bf.Network((first, 2 * second), leak=leak)  # |a| > |w|: no neuron stays near zero for long
    end = 0.8 * np.log(1e20) / found.rates[0]
    run = bf.gradient_flow(network, data, [0.0, end / 2, end])
    assert np.abs(run[-1](data.x)).max() < 1e-6  # still early
    half, last = run[1].weights, run[2].weights
    sizes = [np.linalg.norm(w[0], axis=1) for w in (half, last)]
    same = [
        np.where(np.abs(w[0] @ data.x.T) <= 1e-9 * np.outer(size, np.linalg.norm(data.x, axis=1)), 0, 1)
        * np.sign(w[0] @ data.x.T)
        for w, size in zip((half, last), sizes, strict=True)
    ]
    judged = (same[0] == same[1]).all(axis=1) & (sizes[1] > 1.5 * sizes[0])
    assert np.count_nonzero(judged) >= 5
    growths = sizes[1][judged] / sizes[0][judged]
    for row, a, growth in zip(last[0][judged], last[1][0][judged], growths, strict=True):
        own = found.directions[found.signs == np.sign(a)]
        cosine = np.max(own @ row / np.linalg.norm(row), initial=-1)
        assert cosine >= np.sqrt(1 - growth**-2) - 1e-6  # the flow's own tolerance


def test_refusals():
    data = generic(0)
    with pytest.raises(ValueError, match=r"one output, got 2; pass each y\[:, k\]"):
        extremal_directions(bf.Dataset(data.x, np.ones((8, 2))))
    invalid(r"leak must lie in \[0, 1\], got 1.5", extremal_directions, data, leak=1.5)
    invalid("unknown loss 'hinge'", extremal_directions, data, loss="hinge")
    invalid("labels -1 and \\+1", extremal_directions, data, loss="logistic")
    invalid("starts must be a whole number of at least 1", extremal_directions, data, starts=0)
    with pytest.raises(ValueError, match="these have 3 dimensions; use `directions`"):
        extremal_directions(generic(0, dimensions=3)).angles  # noqa: B018


@settings(max_examples=25)
@given(seed=seeds)
def test_a_plane_in_space_is_a_plane(seed):
    """Inputs that span two of four dimensions: all extrema, in the span."""
    rng = np.random.default_rng(seed)
    data, axes = generic(seed), np.linalg.qr(rng.normal(size=(4, 2)))[0]
    flat, turned = extremal_directions(data), extremal_directions(bf.Dataset(data.x @ axes.T, data.y))
    assert turned.complete
    assume(np.diff(flat.rates, append=-1).max(initial=-1) < -1e-9)  # otherwise the order is rounding
    assert_allclose(turned.directions, flat.directions @ axes.T, atol=1e-9)
