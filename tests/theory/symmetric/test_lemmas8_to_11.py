"""[ZSL25] App. D of the first version, Lemmas 8 to 11, as printed and as they hold (erratum 5)."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import floats, integers
from numpy.testing import assert_allclose, assert_array_equal

import biasfree as bf

leaks, seeds, small, widths = floats(0, 1), integers(0, 2**31), integers(1, 6), integers(1, 17)
sizes = floats(1e-3, 1e3)
EPS = np.finfo(float).eps


def draw(d, width, seed, *, size=1.0):
    """Gaussian inputs of the given size and a first layer; not symmetric."""
    rng = np.random.default_rng(seed)
    return size * rng.normal(size=(9, d)), rng.normal(size=(width, d))


def symmetric(d, seed):
    return bf.data.symmetrize(bf.Dataset(*sample(d, seed)))


def sample(d, seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(9, d)), rng.normal(size=9)


def activated(w, x, leak):
    """σ(W₁x) and σ′(W₁x), (P, H), with σ′(0) = α."""
    z = x @ w.T
    slope = np.where(z > 0, 1.0, leak)
    return slope * z, slope


def trace_of_covariance(x):
    return np.sum(x**2) / len(x)


@settings(max_examples=100)
@given(leak=leaks, d=small, width=widths, seed=seeds, size=sizes)
def test_lemma_8(leak, d, width, seed, size):
    """|⟨σσᵀ⟩| ≤ |W₁|² Tr Σ, in its sharpest form: trace norm on the left, spectral norm on the right."""
    x, w = draw(d, width, seed, size=size)
    sigma, _ = activated(w, x, leak)
    left = np.linalg.norm(sigma.T @ sigma / len(x), ord="nuc")
    # rounding of at most 17·9 terms, where the two sides are equal (leak 1, d = 1)
    assert left <= np.linalg.norm(w, ord=2) ** 2 * trace_of_covariance(x) * (1 + 200 * EPS)


@settings(max_examples=100)
@given(leak=leaks, d=small, width=widths, seed=seeds, size=sizes)
def test_lemma_9_with_its_missing_factor(leak, d, width, seed, size):
    """|⟨σ ⊙ σ′ xᵀ⟩| ≤ |W₁| Tr Σ, and as it is used in Theorem 13: |⟨σ′ ⊙ W₂ᵀW₂σ xᵀ⟩| ≤ |W₂|²|W₁| Tr Σ."""
    x, w = draw(d, width, seed, size=size)
    a = np.random.default_rng(seed + 1).normal(size=width)
    sigma, slope = activated(w, x, leak)
    right = np.linalg.norm(w, ord=2) * trace_of_covariance(x) * (1 + 200 * EPS)
    assert np.linalg.norm((sigma * slope).T @ x / len(x)) <= right
    used = (slope * a * (sigma @ a)[:, None]).T @ x / len(x)
    assert np.linalg.norm(used) <= (a @ a) * right


def test_lemma_9_as_printed_fails_for_small_inputs():
    """Erratum 5: without xᵀ the left side is of first order in x and the right side of second."""
    x, w = np.array([[0.1], [-0.1]]), np.ones((1, 1))
    sigma, slope = activated(w, x, 0.0)
    printed, right = np.linalg.norm(np.mean(sigma * slope, axis=0)), trace_of_covariance(x)
    assert printed == pytest.approx(0.05)
    assert right == pytest.approx(0.01)
    assert np.linalg.norm((sigma * slope).T @ x / 2) <= right


@settings(max_examples=100)
@given(d=small, seed=seeds)
def test_lemma_10_with_its_factor(d, seed):
    """The mean over the half space r·x > 0, 2∫_{S⁺}, has the moments of the whole; ½∫_{S⁺} a quarter of them.

    No Gaussian sample lies on the hyperplane of a Gaussian r.
    """
    data, r = symmetric(d, seed), np.random.default_rng(seed + 1).normal(size=d)
    inside = (data.x @ r > 0)[:, None]
    for moment, integrand in ((data.sigma, data.x), (data.beta, data.y[:, None])):
        integral = np.squeeze((inside * integrand).T @ data.x / len(data))  # ∫_{S⁺}, p the empirical measure
        whole = np.squeeze(moment)
        bound = {"rtol": 0, "atol": 50 * EPS * np.max(np.abs(integrand).T @ np.abs(data.x)) / len(data)}
        assert_allclose(2 * integral, whole, **bound)  # 18 terms, added in another order
        assert_allclose(integral / 2, whole / 4, **bound)
        assert np.linalg.norm(integral / 2 - whole) > 0.7 * np.linalg.norm(whole)  # as printed: ¾ is missing


def test_lemma_10_needs_both_halves_of_condition_3():
    """Even inputs give Σ; an odd target is needed for β besides."""
    data, r = symmetric(3, 0), np.array([1.0, -2, 0.5])
    inside = (data.x @ r > 0)[:, None]
    lopsided = np.random.default_rng(5).normal(size=len(data))
    assert_allclose(2 * (inside * data.x).T @ data.x / len(data), data.sigma, rtol=1e-13)
    beta = lopsided @ data.x / len(data)
    assert np.linalg.norm(2 * (inside[:, 0] * lopsided) @ data.x / len(data) - beta) > 0.1


def test_lemma_10_fails_with_samples_on_the_hyperplane():
    """±e₁, ±e₂ and r = e₁: the half space holds nothing of the second axis."""
    x = np.array([[1.0, 0], [-1, 0], [0, 1], [0, -1]])
    inside = (x @ [1.0, 0] > 0)[:, None]
    assert_array_equal(2 * (inside * x).T @ x / 4, np.diag([0.5, 0.0]))
    assert_array_equal(x.T @ x / 4, np.diag([0.5, 0.5]))


@settings(max_examples=100)
@given(leak=leaks, d=small, width=widths, seed=seeds)
def test_lemma_11(leak, d, width, seed):
    """⟨σ′ ⊙ W₂ᵀ y xᵀ⟩ = c·W₂ᵀβᵀ and ⟨yσᵀ⟩ = c·βᵀW₁ᵀ, at any weights."""
    data, (_, w) = symmetric(d, seed), draw(d, width, seed + 1)
    a, c = np.random.default_rng(seed + 2).normal(size=width), (1 + leak) / 2
    sigma, slope = activated(w, data.x, leak)
    size = np.abs(data.y) @ np.abs(data.x) / len(data)
    # 18 terms, then at most 6 products
    assert_allclose(
        (slope * a * data.y[:, None]).T @ data.x / len(data),
        c * np.outer(a, data.beta),
        rtol=0,
        atol=50 * EPS * np.abs(a).max() * size.max(),
    )
    assert_allclose(
        data.y @ sigma / len(data), c * w @ data.beta, rtol=0, atol=50 * EPS * (np.abs(w) @ size).max()
    )


def test_lemma_11_on_the_hyperplane():
    """With σ′(0) = α, Eq. 16a misses −k·W₂ᵀ⟨1[W₁x = 0] y xᵀ⟩ there; Eq. 16b holds, since σ is continuous."""
    x, leak = np.array([[1.0, 0], [-1, 0], [0, 1], [0, -1]]), 0.2
    y, w, a = np.array([1.0, -1, 2, -2]), np.array([[1.0, 0]]), np.array([3.0])
    beta, (sigma, slope) = y @ x / 4, activated(w, x, leak)
    first = (slope * a * y[:, None]).T @ x / 4
    assert_allclose(first - 0.6 * np.outer(a, beta), [[0, -0.4 * 3 * 1]], atol=1e-15)
    assert_allclose(y @ sigma / 4, 0.6 * w @ beta, atol=1e-15)


@settings(max_examples=50)
@given(leak=floats(0, 0.9), d=small, width=integers(2, 9), seed=seeds)
def test_the_halves_of_the_logistic_proof(leak, d, width, seed):
    """Erratum 5: on S⁺ a positive W₂ has slope 1, where the proof prints α; the sum of the halves is right.

    ⟨σ′ ⊙ W₂ᵀW₂W₁xxᵀ/(e^{cyW₂W₁x} + 1)⟩ = c·W₂ᵀW₂W₁⟨xxᵀ/(e^{cyW₂W₁x} + 1)⟩ for W₁ = W₂ᵀrᵀ.
    """
    data, c = symmetric(d, seed), (1 + leak) / 2
    network = bf.networks.rank_one(np.random.default_rng(seed + 1).normal(size=d), width=width, scale=1.0)
    w, a = network.weights[0], network.weights[1][0]
    f = data.x @ (a @ w)
    weight = f / (np.exp(c * np.sign(data.y) * f) + 1)
    slope = np.where(data.x @ w.T > 0, 1.0, leak)
    plus = (data.x @ (a @ w) > 0)[:, None]
    parts, halves = [], []
    for side in (plus, ~plus):
        parts.append((side * slope * a * weight[:, None]).T @ data.x / len(data))
        halves.append((side[:, 0] * weight) @ data.x / len(data))
    ours, printed = (np.outer(np.where(pick, 1.0, leak) * a, halves[0]) for pick in (a > 0, a < 0))
    bound = {"rtol": 0, "atol": 50 * EPS * np.abs(a).max() * np.max(np.abs(weight) @ np.abs(data.x)) / 18}
    assert_allclose(parts[0], ours, **bound)
    # every entry is off by 1 − α ≥ 0.1 of what a slope of 1 makes it
    assert np.linalg.norm(parts[0] - printed) >= 0.09 * np.linalg.norm(ours)
    assert_allclose(parts[0] + parts[1], c * np.outer(a, halves[0] + halves[1]), **bound)
