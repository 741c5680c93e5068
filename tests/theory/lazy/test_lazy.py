"""The lazy regime: kernels against the chain rule and infinite width, lazy flow against an integrator."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import solve_ivp

import biasfree as bf
import oracles
from biasfree.theory import infinite_width_kernel, kernel, lazy_flow
from refusals import invalid

DEPTHS = st.sampled_from([(2, 5, 1), (3, 4, 2), (2, 4, 3, 1)])


def problem(sizes, leak, seed, biased=False, scale=1.5, samples=4):
    rng = np.random.default_rng(seed)
    network = bf.networks.gaussian(sizes, scale=scale, leak=leak, seed=seed)
    if biased:
        network = bf.Network(
            network.weights, leak=leak, biases=[rng.normal(size=len(w)) for w in network.weights]
        )
    y = rng.normal(size=samples if sizes[-1] == 1 else (samples, sizes[-1]))
    return network, bf.Dataset(rng.normal(size=(samples, sizes[0])), y)


def vector(network):
    return np.concatenate([part.ravel() for part in (*network.weights, *(network.biases or ()))])


def with_vector(network, theta):
    parts, shapes = [], [p.shape for p in (*network.weights, *(network.biases or ()))]
    for shape in shapes:
        parts.append(theta[: np.prod(shape)].reshape(shape))
        theta = theta[np.prod(shape) :]
    n = network.depth
    return bf.Network(parts[:n], leak=network.leak, biases=parts[n:] or None)


@settings(max_examples=30)
@given(DEPTHS, st.floats(0, 1), st.booleans(), st.integers(0, 2**31))
def test_the_kernel_is_that_of_the_chain_rule(sizes, leak, biased, seed):
    network, data = problem(sizes, leak, seed, biased)
    j = oracles.jacobian(network, data.x)
    found = kernel(network, data).reshape(data.y.size, data.y.size)
    assert_allclose(found, j @ j.T, atol=1e-13 * np.abs(found).max())  # sums of fewer than 100 terms


@settings(max_examples=50)
@given(st.floats(0, 1), st.integers(1, 12), st.integers(0, 2**31))
def test_the_odd_part_of_every_kernel_of_two_layers_is_linear(leak, width, seed):
    """Θ(x, x′) − Θ(x, −x′), over 2, is linear in x′ for fixed x: a fit by a linear map leaves rounding."""
    network, _ = problem((3, width, 1), leak, seed)
    x = np.random.default_rng(seed + 1).normal(size=(9, 3))
    both = kernel(network, bf.Dataset(np.concatenate([x, -x]), np.zeros(18)))[:9]
    odd = (both[:, :9] - both[:, 9:]) / 2
    fit = x @ np.linalg.lstsq(x, odd.T, rcond=None)[0]
    assert_allclose(odd.T, fit, atol=1e-12 * max(1.0, np.abs(both).max()))


@settings(max_examples=50)
@given(st.floats(0, 1), st.floats(0, 2), st.floats(0, 2), st.integers(0, 2**31))
def test_the_odd_part_at_infinite_width(leak, sigma_w, sigma_a, seed):
    """c²(σ_w² + σ_a²) x·x′, also for x′ = x and −x."""
    x = np.random.default_rng(seed).normal(size=(5, 3))
    options = {"leak": leak, "sigma_w": sigma_w, "sigma_a": sigma_a}
    odd = (infinite_width_kernel(x, x, **options) - infinite_width_kernel(x, -x, **options)) / 2
    expected = ((1 + leak) / 2) ** 2 * (sigma_w**2 + sigma_a**2) * x @ x.T
    assert_allclose(odd, expected, atol=1e-13 * max(1.0, np.abs(expected).max()))


@pytest.mark.parametrize("leak", [0.0, 0.4, 1.0])
def test_wide_networks_approach_infinite_width(leak):
    """The mean of H terms: within five standard errors, taken from the terms of 40 networks."""
    rng = np.random.default_rng(0)
    data, width, scale = bf.Dataset(rng.normal(size=(4, 3)), np.zeros(4)), 2000, 3.0
    made = [
        kernel(bf.networks.gaussian((3, width, 1), scale=scale, leak=leak, seed=s), data) / width
        for s in range(40)
    ]
    sigmas = {"sigma_w": scale / np.sqrt(3 * width), "sigma_a": scale / np.sqrt(width)}
    limit = infinite_width_kernel(data.x, data.x, leak=leak, **sigmas)
    error = np.std(made, axis=0) / np.sqrt(len(made))
    assert np.all(np.abs(np.mean(made, axis=0) - limit) <= 5 * error)


def test_angles_near_zero_and_pi_keep_their_digits():
    """|sin θ + (π/2 − θ)cos θ| at θ = 1e-9 and π − 1e-9 against mpmath."""
    import mpmath

    mpmath.mp.dps = 50
    x = np.array([[1.0, 0.0]])
    for sign in (1.0, -1.0):
        near = sign * np.array([[1.0, 1e-9]])
        found = infinite_width_kernel(x, near, leak=0.0, sigma_w=1.0, sigma_a=0.0)[0, 0]
        one, two = mpmath.matrix(x[0].tolist()), mpmath.matrix(near[0].tolist())
        dot, sizes = (one.T * two)[0], mpmath.norm(one) * mpmath.norm(two)
        theta = mpmath.atan2(mpmath.mpf(1e-9), sign)
        exact = dot / 4 + (sizes * mpmath.sin(theta) + (mpmath.pi / 2 - theta) * dot) / (2 * mpmath.pi)
        assert abs(found - float(exact)) <= 1e-15


@settings(max_examples=20)
@given(DEPTHS, st.just(0.0) | st.floats(1e-9, 1), st.booleans(), st.integers(0, 2**31))
def test_lazy_flow_solves_the_linearized_equations(sizes, leak, biased, seed):
    """θ̇ = −Jᵀ(f₀ + J(θ − θ₀) − y)/P, J by the chain rule, by SciPy.

    A leak of 1e-254 makes derivatives of that size, which are refused as those of tiny weights are below.
    """
    network, data = problem(sizes, leak, seed, biased)
    run = lazy_flow(network, data, [0.0, 0.5, 3.0], lazy_tolerance=np.inf)
    saved = np.asarray(run.saved)
    j, y = oracles.jacobian(network, data.x), data.y.ravel()
    f0, theta = np.ravel(network(data.x)), vector(network)
    solved = solve_ivp(
        lambda _, moved: -j.T @ (f0 + j @ moved - y) / len(data),
        (0, 3),
        0 * theta,
        t_eval=run.ts,
        rtol=1e-10,
        atol=1e-12,
    )
    for i, moved in enumerate(solved.y.T):
        assert_allclose(vector(run[i]) - theta, moved, atol=1e-5)
        assert_allclose(np.ravel(saved[i]), f0 + j @ moved, atol=1e-5)
    assert_allclose(run.loss, np.mean((data.targets - saved) ** 2, axis=1).sum(axis=1) / 2)


def test_large_networks_follow_it_and_small_ones_are_refused():
    """The distance from the exact flow is of the order of the movement of the weights."""
    data, ts = bf.data.six_points(0.1), np.linspace(0, 3, 7)
    errors = []
    for scale in (30.0, 300.0):
        network = bf.networks.gaussian((2, 200, 1), scale=scale, seed=0)
        exact, lazy = bf.gradient_flow(network, data, ts / scale**2), lazy_flow(network, data, ts / scale**2)
        errors.append(np.abs(exact.loss - lazy.loss).max() / lazy.loss[0])
        assert errors[-1] < 10 * lazy.stats.defects["lazy"] + (exact.stats.error or 0.0)
    assert errors[1] < errors[0]
    with pytest.raises(
        bf.AssumptionError, match="this result assumes lazy training, but the relative movement"
    ):
        lazy_flow(bf.networks.gaussian((2, 200, 1), scale=1e-3, seed=0), data, [0.0, 1e9])


def test_it_ends_at_the_nearest_fit():
    """At infinity: the least displacement whose outputs are the targets."""
    network, data = problem((3, 6, 1), 0.3, 5)
    run = lazy_flow(network, data, [0.0, np.inf], lazy_tolerance=np.inf)
    assert_allclose(np.asarray(run.saved)[-1].ravel(), data.y, atol=1e-10)
    j = oracles.jacobian(network, data.x)
    nearest = np.linalg.pinv(j) @ (data.y - network(data.x))
    assert_allclose(vector(run[-1]) - vector(network), nearest, atol=1e-6)


@pytest.mark.parametrize("hidden", [(4,), (4, 2)])
@pytest.mark.parametrize("leak", [0.0, 0.3])
@pytest.mark.parametrize("biased", [False, True])
def test_networks_without_derivatives_are_refused(hidden, leak, biased):
    """f(θ + v) + f(θ − v) − 2f(θ) is of order |v|² where there are derivatives, and |v| at a kink."""
    rng, refused = np.random.default_rng(0), 0
    for x in (np.eye(3), rng.integers(-2, 3, size=(6, 3)).astype(float)):
        data = bf.Dataset(x, rng.normal(size=len(x)))
        for kind in range(8):
            weights = [*bf.networks.gaussian((3, *hidden, 1), scale=3.0, leak=leak, seed=kind).weights]
            weights[0] = np.round(weights[0]) if kind % 2 else np.zeros_like(weights[0])
            weights[-1] = weights[-1] * (kind % 4 > 0)
            biases = [np.zeros(len(w)) for w in weights] if biased else None
            network = bf.Network(weights, leak=leak, biases=biases)
            try:
                lazy_flow(network, data, [0.0, 1.0], lazy_tolerance=np.inf)
            except bf.AssumptionError as refusal:
                lazy_flow(network, data, [0.0, 1.0], lazy_tolerance=np.inf, kinks_tolerance=np.inf)
                refused += "exactly on the hyperplane of a sample" in str(refusal)
                continue
            theta = vector(network)
            for v in 1e-6 * rng.normal(size=(3, len(theta))):
                bent = (
                    with_vector(network, theta + v)(x) + with_vector(network, theta - v)(x) - 2 * network(x)
                )
                assert np.abs(bent).max() < 1e-9
    assert refused > 4


@pytest.mark.parametrize(("weights", "inputs"), [(200, -530), (-530, 200), (-300, -20)])
def test_kernels_of_tiny_times_huge_have_all_their_digits(weights, inputs):
    """Θ of two layers is of second order in weights and inputs, though squares of either may underflow."""
    network, data = problem((3, 4, 1), 0.2, 0)
    scaled = bf.Network([2.0**weights * w for w in network.weights], leak=0.2)
    found = kernel(scaled, bf.Dataset(2.0**inputs * data.x, data.y))
    assert_allclose(found, 2.0 ** (2 * (weights + inputs)) * kernel(network, data), rtol=1e-14)


def test_zero_weights_do_not_move():
    data = bf.data.six_points(0.1)
    zero = bf.Network((np.zeros((4, 2)), np.zeros((1, 4))))
    run = lazy_flow(zero, data, [0.0, np.inf])
    assert run.stats.defects == {"kinks": 0.0, "lazy": 0.0}
    assert run.loss[0] == run.loss[1]


@settings(max_examples=50)
@given(st.floats(0, 1), st.integers(1, 5), st.integers(1, 4), st.integers(1, 30), st.integers(0, 2**31))
def test_the_kernel_of_two_layers_has_rank_at_most_the_number_of_first_weights(leak, h, d, samples, seed):
    """w_h·∂f/∂w_h = a_h·∂f/∂a_h for every neuron, so HD of the H(D+1) derivatives are independent at most."""
    network, data = problem((d, h, 1), leak, seed, samples=samples)
    rates = np.linalg.eigvalsh(kernel(network, data))
    assert np.sum(rates > 1e-12 * rates.max()) <= min(samples, h * d)


@pytest.mark.parametrize("samples", [3, 12])
def test_it_fits_few_samples_and_not_many(samples):
    """H(D + 1) = 8 weights; leak 0.5, so that no neuron is blind to a sample."""
    network, data = problem((3, 2, 1), 0.5, 1, samples=samples)
    last = lazy_flow(network, data, [0.0, np.inf], lazy_tolerance=np.inf).loss[-1]
    j = oracles.jacobian(network, data.x)
    missing = data.y - network(data.x)
    left = missing - j @ np.linalg.lstsq(j, missing, rcond=1e-8)[0]
    assert_allclose(last, np.mean(left**2) / 2, atol=1e-8)
    assert (last < 1e-20) == (samples == 3)


def test_one_neuron():
    """Width 1: the kernel of a sample on which it is inactive is zero, and nothing is learned there."""
    network = bf.Network((np.array([[1.0, 0.0]]), np.array([[2.0]])))
    data = bf.Dataset([[1.0, 0.0], [-1.0, 0.0]], [3.0, 5.0])
    assert_array_equal(kernel(network, data), [[1.0 + 4.0, 0.0], [0.0, 0.0]])
    run = lazy_flow(network, data, [0.0, np.inf], lazy_tolerance=np.inf)
    assert_allclose(np.ravel(np.asarray(run.saved)[-1]), [3.0, 0.0])


@pytest.mark.parametrize("leak", [0.0, 1.0])
def test_it_is_exact_for_one_layer(leak):
    """f is linear in the weights, whatever the leak: the kernel, x·x′, is fixed."""
    data, ts = bf.data.six_points(0.1), np.linspace(0, 5, 6)
    network = bf.networks.gaussian((2, 1), scale=1.0, leak=leak, seed=0)
    exact, lazy = bf.gradient_flow(network, data, ts), lazy_flow(network, data, ts, lazy_tolerance=np.inf)
    assert_allclose(lazy.loss, exact.loss, atol=1e-7)
    assert_allclose(kernel(network, data), data.x @ data.x.T, atol=1e-15)


@settings(max_examples=20)
@given(st.integers(1, 6), st.integers(0, 2**31))
def test_the_kernel_of_two_linear_layers_is_bilinear_and_moves(width, seed):
    """Leak 1: Θ = xᵀ(W₁ᵀW₁ + |W₂|²)x′, of rank D at most; it is not constant, since weights move."""
    network, data = problem((3, width, 1), 1.0, seed, samples=7)
    w, a = network.weights
    assert_allclose(
        kernel(network, data), data.x @ (w.T @ w + np.sum(a**2) * np.eye(3)) @ data.x.T, atol=1e-10
    )
    run = bf.gradient_flow(network, data, [0.0, 1.0])
    assert bf.diagnostics.kernel_movement(run[-1], network, data) > 0


def test_a_large_scale_is_followed_with_a_small_tolerance():
    """Scale 1e3: weights move by 1e-6 of their size, and the flow is that much more accurate."""
    w, a = bf.networks.gaussian((2, 10, 1), scale=1e3, seed=0).weights
    network, data = bf.Network((np.vstack([w, w]), np.hstack([a, -a]))), bf.data.six_points(0.1)
    ts = np.linspace(0, 3e-5, 7)
    exact, lazy = bf.gradient_flow(network, data, ts, rtol=1e-12), lazy_flow(network, data, ts)
    assert_allclose(lazy.loss, exact.loss, atol=1e-5)
    assert exact.loss[-1] < 0.95 * exact.loss[0]


def test_coverage_says_how_lazy_training_would_be():
    """The defect is that of lazy_flow at t = ∞, where it is largest."""
    data = bf.data.six_points(0.1)
    for scale, applies in ((300.0, True), (1.0, False)):
        w, a = bf.networks.gaussian((2, 50, 1), scale=scale, seed=0).weights
        network = bf.Network((np.vstack([w, w]), np.hstack([a, -a])))
        row = bf.theory.coverage(network, data)["lazy_flow"]
        _, finding = row.findings
        run = lazy_flow(network, data, [0.0, 1.0, np.inf], lazy_tolerance=np.inf)
        assert (row.applies, finding.hypothesis.key) == (applies, "lazy")
        assert finding.defect == pytest.approx(run.stats.defects["lazy"], rel=1e-9)
        assert row.result.reference == "Jacot et al. (2018); Lee et al. (2019)"
    assert "make the network wider or its scale larger" in row.remedies[0]


def test_what_is_too_large_to_measure_is_said():
    network, data = problem((2, 400, 1), 0.2, 3, scale=1e4, samples=1100)
    _, finding = bf.theory.coverage(network, data)["lazy_flow"].findings
    assert finding.problem.startswith("not measurable: 1100 outputs are more than 1000; use")
    assert not finding.holds


def test_too_large_and_too_small_weights_are_refused():
    data = bf.data.six_points(0.1)
    with pytest.raises(ValueError, match="or their derivatives overflow; use smaller weights"):
        lazy_flow(bf.networks.gaussian((2, 4, 1), scale=1e160), data, [0.0, 1.0])
    tiny = bf.networks.gaussian((2, 4, 1), scale=1e-200)
    with pytest.raises(bf.AssumptionError, match=r"relative movement of the weights, .* is inf"):
        lazy_flow(tiny, data, [0.0, 1.0])
    with pytest.raises(ValueError, match="the weights of the linearized network would overflow; use larger"):
        lazy_flow(tiny, data, [0.0, 1.0], lazy_tolerance=np.inf)


def test_wrong_calls():
    x = np.ones((2, 3))
    with pytest.raises(ValueError, match="x and x2 must have shapes"):
        infinite_width_kernel(x, np.ones((2, 2)), leak=0.0, sigma_w=1.0, sigma_a=1.0)
    invalid("leak must lie in", infinite_width_kernel, x, x, leak=2.0, sigma_w=1.0, sigma_a=1.0)
    invalid("sigma_w must not be negative", infinite_width_kernel, x, x, leak=0.0, sigma_w=-1.0, sigma_a=1.0)
    with pytest.raises(ValueError, match="match their sizes"):
        kernel(bf.networks.gaussian((2, 3, 1), scale=1.0), bf.Dataset(x, [1.0, 2.0]))


def test_measures_of_laziness():
    data, network = bf.data.six_points(0.1), bf.networks.gaussian((2, 30, 1), scale=1.0, seed=0)
    doubled = bf.Network(tuple(2 * w for w in network.weights))
    assert bf.diagnostics.weight_movement(doubled, network) == pytest.approx(1.0)
    assert bf.diagnostics.kernel_movement(doubled, network, data) == pytest.approx(3.0)
    assert bf.diagnostics.kernel_movement(network, network, data) == 0.0
    with pytest.raises(ValueError, match="both networks must have the same shape"):
        bf.diagnostics.weight_movement(network, bf.networks.gaussian((2, 3, 1), scale=1.0))
