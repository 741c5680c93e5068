"""The linear, odd and even shares of targets, and the effect of centering and whitening."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import biasfree as bf
from biasfree.diagnostics import preparation, target_shares


def mirrored(n=40, d=3):
    """Mirrored inputs, an odd function orthogonal to linear ones, a linear function, and an even one."""
    half = np.random.default_rng(1).normal(size=(n, d))
    x = np.concatenate([half, -half])
    linear, even = half @ np.arange(1.0, d + 1), np.cos(half[:, 0]) + half[:, 1] ** 2
    odd = np.sin(3 * half[:, 0])
    odd -= half @ np.linalg.lstsq(half, odd, rcond=None)[0]
    unit = [
        np.concatenate([f, s * f]) / np.sqrt(np.mean(f**2)) for f, s in ((linear, -1), (odd, -1), (even, 1))
    ]
    return x, unit


@pytest.mark.parametrize("amounts", [(1, 0.7, 0.5), (1, 0, 0), (0, 1, 0), (0, 0, 1), (0.1, 2, 0)])
def test_shares_of_mirrored_inputs_are_exact(amounts):
    x, parts = mirrored()
    y = sum(a * f for a, f in zip(amounts, parts, strict=True))
    found = target_shares(bf.Dataset(x, y))
    expected = np.square(amounts) / np.sum(np.square(amounts))
    total = found.total
    # means of 80 products of numbers of order one
    assert_allclose([total.linear, total.odd.value, total.even.value], expected, atol=1e-12)
    assert total.noise < 1e-24
    assert {total.odd.identified, total.even.identified} == {"exact"}
    assert found.outputs[0] == total
    assert found.samples == 80


def test_equal_inputs_with_different_targets_are_noise():
    x, (linear, odd, even) = mirrored()
    scatter = np.tile([0.3, -0.3], 80)
    y = np.repeat(linear + odd + even, 2) + scatter
    found = target_shares(bf.Dataset(np.repeat(x, 2, axis=0), y)).total
    assert_allclose(
        [found.linear, found.odd.value, found.even.value, found.noise],
        np.array([1, 1, 1, 0.09]) / 3.09,
        atol=1e-12,
    )


def test_several_outputs_and_the_origin():
    x, (linear, odd, even) = mirrored()
    x, y = np.vstack([x, np.zeros(3)]), np.vstack([np.column_stack([linear, 2 * odd, 0 * even]), [0, 0, 3.0]])
    found = target_shares(bf.Dataset(x, y))
    assert [s.linear for s in found.outputs] == pytest.approx([1, 0, 0], abs=1e-12)
    assert found.outputs[1].odd.value == pytest.approx(1, abs=1e-12)
    assert found.outputs[2].even.value == pytest.approx(1, abs=1e-12)  # y(0) is even
    energies = np.array([80, 320, 9]) / 409
    total = [found.total.linear, found.total.odd.value, found.total.even.value]
    assert total == pytest.approx(energies, abs=1e-12)


def gaussian(p, d, seed, noise=0.3):
    """x₁ + 0.7 odd(x₂) + 0.5 even(x₁) + noise on Gaussian inputs: energies 1, 0.49, 0.25, noise²."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(p, d))
    # ⟨z sin 2z⟩ = 2e⁻², ⟨sin² 2z⟩ = (1 − e⁻⁸)/2; ⟨cos z⟩ = e^{−1/2}, ⟨cos² z⟩ = (1 + e⁻²)/2
    odd = (np.sin(2 * x[:, 1]) - 2 * np.exp(-2) * x[:, 1]) / np.sqrt((1 - np.exp(-8)) / 2 - 4 * np.exp(-4))
    even = np.cos(x[:, 0]) / np.sqrt((1 + np.exp(-2)) / 2)
    return bf.Dataset(x, x[:, 0] + 0.7 * odd + 0.5 * even + noise * rng.normal(size=p))


def test_estimates_cover_known_shares():
    """Six datasets of 500 samples in the plane: their mean is within 4 standard errors, up to a bias.

    The bias is what 400 training samples do not learn: held-out errors beyond the noise, of either part. It
    only lowers the shares; a tenth of each is allowed.
    """
    found = [target_shares(gaussian(500, 2, seed)).total for seed in range(6)]
    for part, energy in (("odd", 0.49), ("even", 0.25)):
        values = np.array([getattr(s, part).value for s in found])
        truth, error = energy / 1.83, values.std(ddof=1) / np.sqrt(6)
        assert truth * 0.9 - 4 * error <= values.mean() <= truth + 4 * error
        assert all(getattr(s, part).identified == "estimate" for s in found)
    assert all(0 <= s.noise <= 0.15 for s in found)  # 0.09/1.83 = 0.05, and what is not learned


def test_noise_is_not_identified():
    """At 5 % each, 40 parts of pure noise: 7 or fewer with probability 0.999."""
    rng = np.random.default_rng(0)
    parts = []
    for _ in range(20):
        total = target_shares(bf.Dataset(rng.normal(size=(80, 3)), rng.normal(size=80))).total
        parts += [total.odd, total.even]
        assert total.noise == pytest.approx(1 - total.linear - total.odd.known - total.even.known)
    assert sum(part.identified == "estimate" for part in parts) <= 7


def test_one_sided_inputs_do_not_tell_odd_from_even():
    x = np.abs(np.random.default_rng(0).normal(size=(300, 2)))
    found = target_shares(bf.Dataset(x, x[:, 0] ** 2))
    assert found.overlap > 0.5
    assert found.total.odd.identified == found.total.even.identified == "not identifiable"


def test_large_data_are_estimated_on_a_subset():
    data = gaussian(1000, 2, 0)
    found = target_shares(data, subsample=300)
    assert found.samples == 300
    w = np.linalg.lstsq(data.x, data.y, rcond=None)[0]
    linear = 1 - np.sum((data.y - data.x @ w) ** 2) / np.sum(data.y**2)
    assert found.total.linear == pytest.approx(linear, rel=1e-12)  # the linear ceiling is that of all samples


def test_few_samples_and_no_target():
    few = target_shares(bf.Dataset(np.eye(3), [1.0, 2, 3])).total
    assert few.linear == pytest.approx(1)
    assert few.odd.identified == "not identifiable"
    nothing = target_shares(bf.Dataset(np.random.default_rng(0).normal(size=(30, 2)), np.zeros(30))).total
    assert np.isnan([nothing.linear, nothing.noise]).all()


def test_preparation_of_shifted_data():
    data = bf.data.odd_sine(n=100, d=3, seed=0)
    shifted = bf.Dataset(data.x + np.array([3.0, 0, 0]), data.y + 1)
    found = preparation(shifted)
    assert found.given.symmetry > 0.9
    assert found.centered.symmetry < 1e-12  # mirror images again, to the rounding of means
    assert found.centered.linear == pytest.approx(preparation(data).given.linear, rel=1e-10)
    assert found.offset == pytest.approx(3 / np.sqrt(9 + np.trace(data.sigma)), rel=1e-12)
    assert found.whitened is not None
    assert found.whitened.linear == pytest.approx(found.given.linear, rel=1e-10)  # the same maps
    assert found.condition == pytest.approx(np.linalg.cond(shifted.sigma), rel=1e-10)


def test_preparation_keeps_symmetry_and_is_none_where_whitening_fails():
    found = preparation(bf.data.odd_sine(n=20, d=3, seed=0))
    assert found.whitened is not None
    assert (found.given.symmetry, found.centered.symmetry, found.whitened.symmetry) == (0, 0, 0)
    flat = preparation(bf.Dataset(np.array([[1.0, 1], [2, 2], [-1, -1]]), [1.0, 2, 3]))
    assert flat.whitened is None
    assert flat.condition == np.inf


def test_an_overfitted_linear_map_is_no_odd_nonlinear_part():
    """On even targets the best linear map is noise, and its correction is linear."""
    x = np.random.default_rng(0).normal(size=(120, 6))
    shares = target_shares(bf.Dataset(x, np.ones(120))).total
    assert shares.odd.known < 0.01
