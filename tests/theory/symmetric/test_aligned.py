"""[ZSL25] Theorem 13: small initial weights become rank one before outputs matter."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import floats, integers
from numpy.testing import assert_allclose
from scipy.linalg import expm

import biasfree as bf
from biasfree.theory import RankOne
from biasfree.theory.hypotheses import EQUIVALENCE


@settings(max_examples=40)
@given(leak=floats(0, 1), width=integers(4, 17), d=integers(2, 6), seed=integers(0, 2**31))
def test_growing_part_of_the_early_flow(leak, width, d, seed):
    """d/dt (W₁, W₂) = c(W₂ᵀβᵀ, βᵀW₁ᵀ) leaves r₁β̄ᵀe^{cst} and r₁ᵀe^{cst} once the rest has decayed."""
    data = bf.data.odd_sine(n=9, d=d, seed=seed)
    network = bf.networks.gaussian((d, width, 1), scale=1e-9, leak=leak, seed=seed)
    c, s = (1 + leak) / 2, np.linalg.norm(data.beta)
    t = 18 / (c * s)
    system = np.zeros((d + 1, d + 1))
    system[-1, :-1] = system[:-1, -1] = c * data.beta
    first, second = network.weights
    late = np.hstack([first, second.T]) @ expm(t * system)  # rows (w_h, a_h)
    stand_in = bf.theory.two_neuron_flow(
        network, data, [0.0], growing_tolerance=np.inf, small_tolerance=np.inf
    )
    growing = stand_in[0]
    expected = np.hstack([growing.weights[0], growing.weights[1].T]) * np.exp(c * s * t)
    # what does not grow is e^{−18} = 1.5e-8 of what does, times √D for initial weights that point elsewhere
    assert_allclose(late, expected, rtol=0, atol=1e-6 * np.abs(expected).max())


@given(leak=floats(0, 1), width=integers(6, 17), seed=integers(0, 2**31), scale=floats(1e-150, 1e-2))
def test_aligned_network_satisfies_the_assumption(leak, width, seed, scale):
    data = bf.data.odd_sine(n=9, d=3, seed=0)
    network = bf.networks.gaussian((3, width, 1), scale=scale, leak=leak, seed=seed)
    first, second = (w / scale for w in network.weights)
    r1 = (first @ data.beta / np.linalg.norm(data.beta) + second[0]) / 2
    if leak < 1 and abs(np.sum(np.sign(r1) * r1**2)) > (1 - 1e-12) * np.sum(r1**2):
        return  # one sign only, refused below
    found = bf.theory.aligned(network, data, both_signs_tolerance=1.0, growing_tolerance=np.inf)
    for hypothesis in EQUIVALENCE:
        hypothesis.check(found, data, tolerance=1e-14)
    parts = RankOne.of(found)
    assert parts.norm / scale == pytest.approx(np.linalg.norm(r1), rel=1e-13)
    assert (np.sign(parts.neurons) == np.sign(r1)).all()


def test_a_linear_network_keeps_its_imbalance():
    data = bf.data.odd_sine(n=9, d=3, seed=0)
    network = bf.networks.gaussian((3, 7, 1), scale=1e-6, leak=1.0, seed=1)
    first, second = network.weights
    r1 = (first @ data.beta / np.linalg.norm(data.beta) + second[0]) / 2
    assert_allclose(bf.theory.aligned(network, data).weights[1][0], r1, rtol=1e-13)


def test_refusals():
    data = bf.data.odd_sine(n=9, d=3, seed=0)
    with pytest.raises(bf.AssumptionError, match=r"small initial weights .* use a smaller scale="):
        bf.theory.aligned(bf.networks.gaussian((3, 7, 1), scale=1.0), data)
    one_sign = bf.networks.rank_one(data.beta, width=4, scale=1e-6).weights[1]
    with pytest.raises(bf.AssumptionError, match=r"one sign only\) is inf .* use a wider network"):
        bf.theory.aligned(bf.Network((np.abs(one_sign).T * data.beta, np.abs(one_sign))), data)
    first = np.outer([1e-6, -2e-6], data.beta / np.linalg.norm(data.beta))
    with pytest.raises(bf.AssumptionError, match=r"a growing part r₁ that dominates .* is (inf|[1-9])"):
        bf.theory.aligned(bf.Network((first, [[-1e-6, 2e-6]])), data)  # W₁β̄ = −W₂ᵀ
    with pytest.raises(bf.AssumptionError, match="β = ⟨yx⟩ ≠ 0"):
        bf.theory.aligned(bf.networks.gaussian((3, 7, 1), scale=1e-3), bf.Dataset(data.x, np.zeros(18)))
