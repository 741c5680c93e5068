"""Decisions of events against enumeration, quadratic programming and a scan of all directions."""

from itertools import product

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis.strategies import integers, sampled_from
from scipy.optimize import lsq_linear

from biasfree.dynamics.kinks._crossings import CROSS, UNCLEAR, at_hyperplane
from biasfree.dynamics.kinks._decide import Contact, _outcomes, departures, resolve
from biasfree.dynamics.network._layout import hyperplanes_of

many = settings(deadline=None, max_examples=150)


def kink(normals, above, below, rest, signs=None, hit=None):
    normals = np.atleast_2d(np.array(normals, float))
    count = len(normals)
    signs = np.zeros(count, int) if signs is None else np.array(signs)
    hit = np.zeros(count, bool) if hit is None else np.array(hit)
    return Contact(normals, np.array(above, float), np.array(below, float), np.array(rest, float), signs, hit)


def random_kink(count, dimensions, seed, *, attracting=False):
    rng = np.random.default_rng(seed)
    normals = rng.normal(size=(count, dimensions))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    above, below = rng.normal(size=(2, count))
    if attracting:
        above, below = np.minimum(above, below), np.maximum(above, below)
    return kink(normals, above, below, rng.normal(size=dimensions))


def forces_of(k, outcome):
    """v of every hyperplane: that of the side it is left to; sliding ones make up the velocity."""
    fixed = np.where(outcome.signs > 0, k.above, np.where(outcome.signs < 0, k.below, 0.0))
    sliding = outcome.signs == 0
    missing = outcome.velocity - k.rest - fixed @ k.normals
    fixed[sliding] = np.linalg.lstsq(k.normals[sliding].T, missing, rcond=None)[0]
    return fixed


def assert_is_a_solution(k, outcome):
    """u = rest + Σ v n, v of the side it is on or between the two, and u leads to those sides."""
    size = 1 + np.linalg.norm(k.rest) + np.abs(k.above).sum() + np.abs(k.below).sum()
    v, rates = forces_of(k, outcome), k.normals @ outcome.velocity
    np.testing.assert_allclose(k.rest + v @ k.normals, outcome.velocity, rtol=0, atol=1e-9 * size)
    sliding = outcome.signs == 0
    # least squares with bounds is solved to 1e-9 of the gap between the two sides
    assert (np.abs(rates[sliding]) <= 1e-9 * size).all()
    assert (outcome.signs * rates >= -1e-9 * size).all()
    low, high = np.minimum(k.above, k.below), np.maximum(k.above, k.below)
    assert ((v >= low - 1e-7 * size) & (v <= high + 1e-7 * size)).all()


# One hyperplane: every case by hand. The rate towards the normal is above on one side, below on the other.


@pytest.mark.parametrize(
    ("above", "below", "signs", "hit", "expected", "branches"),
    [
        (-1, -2, 1, True, -1, False),  # comes down, goes on down
        (2, 1, -1, True, 1, False),  # comes up, goes on up
        (-1, 1, 1, True, 0, False),  # pushed back from both sides: slides
        (-1, 1, -1, True, 0, False),
        (-1, 1, 0, False, 0, False),  # and goes on sliding
        (-2, -1, 0, False, -1, False),  # released downwards: both sides push down now
        (1, 2, 0, False, 1, False),  # released upwards
        (2, -1, 0, False, -1, True),  # repelled: descent would spend λ = 1/3 of its steps above
        (1, -2, 0, False, 1, True),  # λ = 2/3
        (1, -1, 0, False, 1, True),  # a tie goes to the side of the normal
        (2, -1, 1, False, 1, True),  # it stays on the side it came from,
        (2, -1, -1, False, -1, True),
        (2, -1, -1, True, 1, True),  # unless it has just reached the hyperplane
    ],
)
def test_one_hyperplane(above, below, signs, hit, expected, branches):
    outcome = resolve(kink([[1.0, 0.0]], [above], [below], [0.0, 5.0], [signs], [hit]))
    assert outcome.signs.tolist() == [expected]
    assert outcome.branches == branches
    rate = {1: above, -1: below, 0: 0.0}[expected]
    np.testing.assert_allclose(outcome.velocity, [rate, 5.0], rtol=0, atol=1e-15)


@many
@given(seed=integers(0, 2**31))
def test_the_rest_of_the_force_shifts_both_sides(seed):
    """Only above + n·rest and below + n·rest matter to one hyperplane."""
    k = random_kink(1, 3, seed)
    shift = float(k.normals[0] @ k.rest)
    alone = resolve(kink([[1.0]], k.above + shift, k.below + shift, [0.0]))
    outcome = resolve(k)
    assert outcome.signs.tolist() == alone.signs.tolist()
    assert outcome.branches == alone.branches
    np.testing.assert_allclose(outcome.velocity @ k.normals[0], alone.velocity[0], rtol=0, atol=1e-13)


# Several hyperplanes that attract: the velocity of least norm, by enumeration and by quadratic programming.


def least_norm_by_enumeration(k):
    """Every v at its lower bound, at its upper or free; the shortest feasible velocity."""
    best = None
    for choice in map(np.array, product((0, 1, 2), repeat=len(k.above))):
        v = np.where(choice == 0, k.above, k.below)
        free = choice == 2
        force = k.rest + np.where(free, 0.0, v) @ k.normals
        v[free] = np.linalg.lstsq(k.normals[free].T, -force, rcond=None)[0]
        feasible = ((v >= k.above - 1e-9) & (v <= k.below + 1e-9)).all()
        u = k.rest + v @ k.normals
        if feasible and (best is None or u @ u < best @ best - 1e-12):
            best = u
    return best


@many
@given(seed=integers(0, 2**31), shape=sampled_from([(2, 2), (2, 3), (3, 3), (4, 5), (5, 4), (4, 2)]))
def test_attracting_hyperplanes_leave_the_shortest_velocity(seed, shape):
    """Filippov's solution; also with more hyperplanes than dimensions, whose normals are dependent."""
    k = random_kink(shape[0], shape[1], seed, attracting=True)
    outcome = resolve(k)
    assert not outcome.branches
    assert_is_a_solution(k, outcome)
    shortest = least_norm_by_enumeration(k)
    assert shortest is not None
    np.testing.assert_allclose(outcome.velocity, shortest, rtol=0, atol=1e-7)
    sliding = k.normals[outcome.signs == 0]
    assert np.linalg.matrix_rank(sliding) == len(sliding)


@settings(deadline=None, max_examples=30)
@given(seed=integers(0, 2**31), shape=sampled_from([(3, 4), (6, 6), (8, 5)]))
@example(seed=565, shape=(6, 6))  # takes more steps than there are hyperplanes
def test_the_shortest_velocity_is_the_nearest_point(seed, shape):
    """u is the point nearest to 0 of the convex set of velocities p if it is one of them and u·p ≥ |u|² for
    all: for those at the corners, to which the least of u·p belongs."""
    k = random_kink(shape[0], shape[1], seed, attracting=True)
    u = resolve(k).velocity
    inside = lsq_linear(k.normals.T, u - k.rest, (k.above, k.below), method="bvls", tol=1e-14)
    # a few dozen products of forces of order one, each rounded to 1e-16
    np.testing.assert_allclose(inside.fun, 0, atol=1e-12)
    along = k.normals @ u
    least = u @ k.rest + np.minimum(along * k.above, along * k.below).sum()
    assert least >= u @ u - 1e-12


def test_a_hyperplane_that_others_imply_is_left_to_a_side():
    """Three attracting hyperplanes in a plane hold the neuron: it slides along two, the third follows."""
    angles = np.array([0.0, 1.0, 2.0])
    outcome = resolve(
        kink(np.column_stack([np.cos(angles), np.sin(angles)]), [-5, -5, -5], [5, 5, 5], [0.1, 0.2])
    )
    np.testing.assert_allclose(outcome.velocity, 0, atol=1e-9)
    assert (outcome.signs == 0).sum() <= 2


# Lines that attract and repel.


@many
@given(seed=integers(0, 2**31), shape=sampled_from([(2, 2), (2, 3), (3, 3), (4, 4), (3, 2)]))
def test_every_outcome_is_a_solution(seed, shape):
    k = random_kink(shape[0], shape[1], seed)
    assert_is_a_solution(k, resolve(k))


@many
@given(seed=integers(0, 2**31), shape=sampled_from([(2, 2), (3, 3)]))
def test_branches_are_counted(seed, shape):
    """All ways to leave, by enumeration of the sides of the hyperplanes that repel."""
    k = random_kink(shape[0], shape[1], seed)
    repels = k.above > k.below
    ways = 0
    for chosen in product((1, -1), repeat=int(repels.sum())):
        sides = np.array(chosen, int)
        rest = k.rest + np.where(sides > 0, k.above[repels], k.below[repels]) @ k.normals[repels]
        others = (
            kink(k.normals[~repels], k.above[~repels], k.below[~repels], rest) if (~repels).any() else None
        )
        u = rest if others is None else least_norm_by_enumeration(others)
        rates = sides * (k.normals[repels] @ u)
        assume(np.abs(rates).min(initial=1.0) > 1e-6)  # not a tie to rounding
        ways += bool((rates > 0).all())
    assert resolve(k).branches == (ways != 1)


# Ways out of w = 0. There ẇ = ∇Φ(w), Φ(w) = Σ_q max(n_q·w, 0) above_q + min(n_q·w, 0) below_q, homogeneous of
# degree one: a neuron leaves along a local maximum of Φ on the unit sphere, at the rate Φ.


def rates(normals, above, below, directions):
    along = directions @ normals.T
    return np.maximum(along, 0) @ above + np.minimum(along, 0) @ below


def maxima_on_the_circle(normals, above, below):
    """Angles and values of the positive local maxima of Φ, arc by arc between the edges, where Φ = g·ray."""
    across = np.arctan2(normals[:, 1], normals[:, 0])
    edges = np.sort(np.concatenate([across + np.pi / 2, across - np.pi / 2]) % (2 * np.pi))
    ends = np.append(edges[1:], edges[0] + 2 * np.pi)
    middles = (edges + ends) / 2
    seen = np.column_stack([np.cos(middles), np.sin(middles)]) @ normals.T > 0
    g = np.where(seen, above, below) @ normals
    toward = np.arctan2(g[:, 1], g[:, 0])
    inside = (toward - edges) % (2 * np.pi) < ends - edges  # the top of a cosine
    turn = np.column_stack([-np.sin(edges), np.cos(edges)])
    ridge = (np.sum(np.roll(g, 1, axis=0) * turn, axis=1) > 0) & (np.sum(g * turn, axis=1) < 0)
    heights = np.sum(g * np.column_stack([np.cos(edges), np.sin(edges)]), axis=1)
    angles = np.concatenate([toward[inside], edges[ridge]])
    values = np.concatenate([np.linalg.norm(g[inside], axis=1), heights[ridge]])
    risen = values > 1e-11 * (np.abs(above).sum() + np.abs(below).sum())  # zero but for rounding is not up
    return angles[risen], values[risen]


@many
@given(seed=integers(0, 2**31), count=sampled_from([1, 2, 3, 5, 7]))
@example(
    seed=7866, count=5
)  # its highest maximum lies beside an edge from which another one is reached first
@example(seed=1456, count=5)  # one maximum is 1e-5 from a minimum
def test_departures_in_the_plane(seed, count):
    """The ways out are the maxima of Φ on the circle, all of them, the highest first."""
    k = random_kink(count, 2, seed)
    ways = departures(k.normals, k.above, k.below, hyperplanes_of(k.normals).rays)
    angles, peaks = maxima_on_the_circle(k.normals, k.above, k.below)
    assert bool(ways) == bool(len(peaks))
    if not ways:
        return
    speeds = np.array([speed for speed, _ in ways])
    assert (np.diff(speeds) <= 0).all()
    # rounding of sums of forces, and what the code takes for zero, 1e-9 of them at most
    tolerance = 1e-8 * (np.abs(k.above).sum() + np.abs(k.below).sum())
    for speed, signs in ways:
        nearest = np.argmin(np.abs(peaks - speed))
        assert abs(peaks[nearest] - speed) <= tolerance
        ray = np.array([np.cos(angles[nearest]), np.sin(angles[nearest])])
        along = k.normals @ ray
        assert (np.sign(along)[np.abs(along) > 1e-3] == signs[np.abs(along) > 1e-3]).all()
    for peak in peaks:
        assert np.abs(speeds - peak).min() <= tolerance


def test_departures_from_the_only_hyperplane():
    """One hyperplane with an outward force on one side only, on both, on none."""
    rays = np.array([[1.0], [-1.0]])
    ways = departures(np.array([[1.0]]), np.array([2.0]), np.array([1.0]), rays)
    assert [(s, signs.tolist()) for s, signs in ways] == [(2.0, [1])]
    ways = departures(np.array([[1.0]]), np.array([2.0]), np.array([-3.0]), rays)
    assert [(s, signs.tolist()) for s, signs in ways] == [(3.0, [-1]), (2.0, [1])]
    assert departures(np.array([[1.0]]), np.array([-2.0]), np.array([3.0]), rays) == []


@settings(deadline=None, max_examples=60)
@given(seed=integers(0, 2**31), shape=sampled_from([(3, 3), (5, 3), (6, 4)]))
def test_no_departure_means_that_no_force_points_outward(seed, shape):
    """The rate is linear on every cone of the arrangement: if the force is inward on every edge, it is in
    every direction."""
    k = random_kink(shape[0], shape[1], seed, attracting=seed % 3 > 0)
    ways = departures(k.normals, k.above, k.below, hyperplanes_of(k.normals).rays)
    random = np.random.default_rng(seed).normal(size=(5000, shape[1]))
    best = rates(k.normals, k.above, k.below, random / np.linalg.norm(random, axis=1, keepdims=True)).max()
    assert ways or best <= 1e-9
    if ways:
        speed, signs = ways[0]
        force = np.where(signs > 0, k.above, np.where(signs < 0, k.below, 0.0)) @ k.normals
        sliding = k.normals[signs == 0]
        u = force - np.linalg.pinv(sliding) @ (sliding @ force)
        np.testing.assert_allclose(np.linalg.norm(u), speed, rtol=1e-9)
        # a way out leads to the sides it names
        assert (signs * (k.normals @ u) >= -1e-9 * speed).all()


@many
@given(
    seed=integers(0, 2**31),
    tie=sampled_from([None, 1e-7, -1e-7, 1e-10, -1e-10]),
    side=sampled_from([1, -1]),
)
def test_the_rule_of_one_hyperplane_agrees_with_enumeration(seed, tie, side):
    """A neuron that reaches one hyperplane: where the native rule is clear, it is the only outcome."""
    k = random_kink(1, 3, seed)
    above, below = k.above[0], k.below[0]
    if tie is not None:  # one side nearly at rest
        above = -float(k.normals[0] @ k.rest) + tie
    k = kink(k.normals, [above], [below], k.rest, [side], [True])
    along = float(k.normals[0] @ k.rest)
    told = at_hyperplane(side * (along + (above if side > 0 else below)), above - below)
    leaving, staying = _outcomes(k)
    if told != UNCLEAR:
        assert [outcome.signs.tolist() for outcome in leaving + staying] == [[-side if told == CROSS else 0]]
    outcome = resolve(k)
    np.testing.assert_allclose(outcome.velocity, (leaving + staying)[0].velocity, rtol=0, atol=1e-6)
