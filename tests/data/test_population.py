"""Infinite data: its moments against samples with error bars and 50 digits, its samples, its refusals."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import floats, integers, sampled_from
from mpmath import mp
from numpy.testing import assert_allclose, assert_array_equal

import biasfree as bf
from biasfree.data import AbsoluteProducts, Polar, Population
from refusals import invalid

SIGMA = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.2], [0.0, 0.2, 0.7]])
TEACHER = bf.networks.gaussian((3, 4, 1), scale=1.5, leak=0.2, seed=3)
OTHER = bf.networks.gaussian((3, 2, 1), scale=1.0, leak=0.0, seed=4)
LINEAR = [0.3, -0.4, 0.5]


def cube(z):
    return z**3


POPULATIONS = {
    "gaussian": Population(3, linear=LINEAR),
    "correlated": Population(3, covariance=SIGMA, linear=LINEAR, odd=([1, 0, 1], np.tanh), noise=0.3),
    "teacher": Population(3, covariance=SIGMA, teacher=TEACHER),
    "two teachers": Population(3, covariance=0.5, linear=LINEAR, teacher=[TEACHER, OTHER], noise=0.1),
    "sphere": Population(3, radius=2.0, linear=LINEAR, odd=([0.5, 0, 0.2], cube), teacher=OTHER),
    "circle": Population(2, radius=1.5, odd=([1.0, 2.0], np.sin)),
    "two points": Population(1, radius=1.5, odd=([2.0], np.sin), linear=[1.0]),
}


@pytest.mark.parametrize("name", POPULATIONS)
def test_moments_are_those_of_many_samples(name):
    """Σ, β and E[y²] within five standard errors of 200 000 samples: 1 in 10⁶ per number by chance."""
    population, n = POPULATIONS[name], 200_000
    data = population.sample(n, seed=7)
    y, x = data.y, data.x
    pairs = [(x[:, i] * x[:, j], population.sigma[i, j]) for i in range(x.shape[1]) for j in range(i + 1)]
    pairs += [(y * x[:, i], population.beta[i]) for i in range(x.shape[1])]
    pairs += [(y**2, population.mean_square)]
    for values, mean in pairs:
        error = values.std() / np.sqrt(n)
        assert abs(values.mean() - mean) <= 5 * error + 1e-12 * np.abs(values).max()


@pytest.mark.parametrize("name", POPULATIONS)
def test_best_map_is_least_squares(name):
    population = POPULATIONS[name]
    best = np.linalg.solve(population.sigma, population.beta)
    assert_allclose(population.best_map, best, rtol=0, atol=1e-13 * np.abs(best).max())


def test_moments_of_odd_sine_have_their_closed_form():
    """β = w(1 + 4e^{−8|w|²}), E[y²] = |w|² + 8e^{−8|w|²}|w|² + (1 − e^{−32|w|²})/2, for x ~ N(0, I)."""
    for seed in range(3):
        population = Population.odd_sine(2, seed=seed)
        w = population.linear
        assert w is not None
        size = w @ w
        assert_allclose(population.beta, w * (1 + 4 * np.exp(-8 * size)), rtol=1e-12)
        square = size + 8 * np.exp(-8 * size) * size + (1 - np.exp(-32 * size)) / 2
        assert population.mean_square == pytest.approx(square, rel=1e-12)


def test_odd_sine_has_the_targets_of_the_task():
    data, population = bf.data.odd_sine(50, 6, seed=3), Population.odd_sine(6, seed=3)
    assert_array_equal(population.target(data.x[:50]), data.y[:50])
    data, population = bf.data.linear_teacher(50, 6, seed=3), Population.linear_teacher(6, seed=3)
    assert_array_equal(population.target(data.x[:50]), data.y[:50])


@pytest.mark.parametrize("dimensions", [2, 3, 7, 100, 100_000])
def test_cubes_on_a_sphere_have_their_closed_form(dimensions):
    """z = √D x₁/R: E[z⁴] = 3D/(D+2), so κ = 3D/(D+2) for g = z³; E[z⁶] = 15D²/((D+2)(D+4))."""
    d, slope = dimensions, 3 * dimensions / (dimensions + 2)
    population = Population(d, radius=np.sqrt(d), odd=(np.eye(1, d)[0], cube))
    assert population.beta[0] == pytest.approx(slope, rel=1e-12)
    assert population.odd_rest == pytest.approx(15 * d**2 / ((d + 2) * (d + 4)) - slope**2, rel=1e-10)


def test_a_function_needs_to_be_defined_on_the_sphere_only():
    """In three dimensions x₁ is uniform on [−1, 1], and E[x₁·arcsin x₁] = π/8."""
    population = Population(3, radius=1.0, odd=([1.0, 0, 0], np.arcsin))
    assert_allclose(population.beta, [np.pi / 8, 0, 0], rtol=1e-10, atol=1e-15)


def exact_product(p, q):
    """E|p·x||q·x| and its gradient in p, with 50 digits."""
    p, q = mp.matrix([mp.mpf(float(v)) for v in p]), mp.matrix([mp.mpf(float(v)) for v in q])
    dot, a, b = (p.T * q)[0], mp.norm(p), mp.norm(q)
    theta = 2 * mp.atan2(mp.norm(p / a - q / b), mp.norm(p / a + q / b))
    value = 2 / mp.pi * (a * b * mp.sin(theta) + (mp.pi / 2 - theta) * dot)
    slope = 2 / mp.pi * (b * mp.sin(theta) / a * p + (mp.pi / 2 - theta) * q)
    return value, slope


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("angle", [0, 1e-300, 1e-16, 1e-9, 3e-8, 1e-6, 1e-3, 0.5, np.pi / 2])
@pytest.mark.parametrize("size", [1.0, 1e-150])
def test_products_have_fifty_digits_beside_them(sign, angle, size):
    """Value and gradient within 8 roundings of |p||q| and |q|, for parallel, opposite and tiny vectors."""
    p = size * np.array([1.0, 0.3, -0.2])
    q = sign * (np.array([1.0, 0.3, -0.2]) + angle * np.array([0.3, -1.0, 0.4]))
    products = AbsoluteProducts.of(Polar.of(p[None]), Polar.of(q[None]))
    with mp.workdps(50):
        value, slope = exact_product(p, q)
        scale = np.linalg.norm(q)
        assert (
            abs(products.values[0, 0] - float(value)) <= 8 * 2.3e-16 * scale * np.linalg.norm(p / size) * size
        )
        exact = np.array([float(v) for v in slope])
    assert np.abs(products.gradients(np.ones(1))[0] - exact).max() <= 8 * 2.3e-16 * scale


def test_angles_keep_relative_digits_near_zero_and_pi():
    """sin θ to 1e-7 of itself at θ = 1e-9, where the cosine is 1 to rounding: unit vectors round by 1e-16."""
    angle = 1e-9
    p, q = np.array([[1.0, 0.0]]), np.array([[1.0, angle], [-1.0, angle]])
    found = AbsoluteProducts.of(Polar.of(p), Polar.of(q)).sines[0]
    assert_allclose(found, angle, rtol=1e-7)


def test_a_zero_vector_has_zero_products_and_no_nan():
    products = AbsoluteProducts.of(Polar.of(np.array([[0.0, 0.0], [1.0, 2.0]])), Polar.of(np.zeros((1, 2))))
    assert not products.values.any()
    assert not products.gradients(np.ones(1)).any()


@settings(max_examples=30)
@given(d=sampled_from([1, 2, 5]), m=sampled_from([1, 3, 6]), leak=floats(0, 1), seed=integers(0, 2**31))
def test_the_mean_square_of_a_teacher_does_not_depend_on_how_it_is_written(d, m, leak, seed):
    """Positively homogeneous: (w, a) → (sw, a/s) keeps the function, and so every moment."""
    rng = np.random.default_rng(seed)
    teacher = bf.networks.gaussian((d, m, 1), scale=1.0, leak=leak, seed=seed)
    s = np.exp(rng.normal(size=m))
    scaled = bf.Network((s[:, None] * teacher.weights[0], teacher.weights[1] / s), leak=leak)
    one, other = Population(d, teacher=teacher), Population(d, teacher=scaled)
    assert one.mean_square == pytest.approx(other.mean_square, rel=1e-12)
    sphere = Population(d, radius=np.sqrt(d), teacher=teacher)
    assert sphere.mean_square == pytest.approx(one.mean_square, rel=1e-12)


def test_values_survive_pickle_and_copy():
    for population in POPULATIONS.values():
        for other in (pickle.loads(pickle.dumps(population)), copy.deepcopy(population)):
            assert other.mean_square == population.mean_square
            assert_array_equal(other.sample(3, 1).y, population.sample(3, 1).y)


def test_a_large_isotropic_population_writes_no_matrix():
    population = Population(100_000, linear=np.ones(100_000))
    assert population.mean_square == pytest.approx(1e5, rel=1e-12)
    assert population.variance == 1.0
    with pytest.raises(ValueError, match="too many entries to write out; it is 1 times the identity"):
        _ = population.sigma


def test_a_diagonal_covariance_is_recognized_as_white():
    assert Population(2, covariance=3 * np.eye(2)).variance == 3.0
    assert Population(2, covariance=np.diag([3.0, 1.0])).variance is None


def test_repr_names_the_terms():
    shown = repr(Population(3, linear=LINEAR, teacher=TEACHER, noise=0.1))
    assert shown == "Population(dimensions=3, Gaussian inputs, y: linear + teacher + noise)"
    assert repr(Population(2, radius=2.0)) == "Population(dimensions=2, inputs of norm 2, y: 0)"


WIDE = bf.networks.gaussian((4, 2, 1), scale=1.0)
DEEP = bf.networks.gaussian((3, 2, 2, 1), scale=1.0)
TWO = bf.networks.gaussian((3, 2, 2), scale=1.0)
BIASED = bf.Network(OTHER.weights, biases=(np.ones(2), np.ones(1)))
JUMP = ([1.0, 0, 0], lambda z: np.sign(np.round(z / 1.7)))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"covariance": [[1, 0.5, 0], [0, 1, 0], [0, 0, 1]]}, r"must be symmetric, .* up to 0\.5; pass"),
        ({"covariance": np.diag([1.0, 1.0, 0.0])}, "must be positive definite, .* least eigenvalue is 0 "),
        ({"covariance": np.diag([1.0, 1.0, -1.0])}, "must be positive definite, .* least eigenvalue is -1 "),
        ({"covariance": np.eye(2)}, r"must be a number or have shape \(3, 3\), got shape \(2, 2\)"),
        ({"covariance": -1.0}, "covariance must be positive"),
        ({"covariance": 1.0, "radius": 1.0}, "both given; leave out one"),
        ({"radius": 0.0}, "radius must be positive"),
        ({"linear": [1, 2]}, r"linear must be a vector of 3 numbers, got shape \(2,\)"),
        ({"odd": np.sin}, "odd must be a pair of a vector u and an odd function g"),
        ({"odd": [([1, 0, 0], np.sin), ([0, 1, 0], np.sin)]}, "use samples of other targets"),
        ({"odd": ([1, 2], np.sin)}, "the vector of odd must be a vector of 3 numbers"),
        ({"odd": (np.zeros(3), np.sin)}, "the vector of odd is zero"),
        ({"odd": ([1, 0, 0], np.cos)}, "the function of odd= must be odd"),
        ({"odd": ([1, 0, 0], np.sum)}, "return one finite number for each"),
        ({"teacher": WIDE}, "the teacher takes 4 inputs, but dimensions is 3"),
        ({"teacher": DEEP}, r"must have two layers, got .*; take samples of it, bf\.Dataset"),
        ({"teacher": TWO}, r"must have one output, got .*; take samples of it"),
        ({"teacher": BIASED}, r"must have no biases, got .*; take samples of it"),
        ({"teacher": "relu"}, r"teacher must be a bf\.Network or a list of them, got a str"),
        ({"noise": -0.1}, "noise must not be negative"),
    ],
)
def test_wrong_populations_are_refused(given, message):
    invalid(message, Population, 3, **given)


def test_a_function_that_jumps_is_refused_where_its_moments_are_needed():
    with pytest.raises(ValueError, match="do not converge, as where it jumps"):
        _ = Population(3, odd=JUMP).beta
