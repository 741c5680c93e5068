"""Where the first version prints something else than what the simulation obeys: both forms, side by side.

Erratum 2 is in test_corollary14_white, 4 in test_lemma12_bounds, 5 in test_lemmas8_to_11, 6 in
test_proposition12_deep.
"""

import numpy as np
import pytest

import biasfree as bf
import oracles


def labelled(seed):
    data = bf.data.odd_sine(n=8, d=3, seed=seed)
    return bf.Dataset(data.x, np.sign(data.y))


def slopes(network, data, *, printed):
    """Ẇ₁ and Ẇ₂ under the logistic loss: Eq. 7 as printed, with W₂σ(W₁x) where y belongs, and ours."""
    hidden = data.x @ network.weights[0].T
    gate = np.where(hidden > 0, 1.0, network.leak)
    f = (gate * hidden) @ network.weights[1][0]
    residual = (f if printed else data.y) / (np.exp(data.y * f) + 1)
    first = (gate * network.weights[1] * residual[:, None]).T @ data.x / len(data)
    return first, (residual @ (gate * hidden) / len(data))[None]


@pytest.mark.parametrize("leak", [0.0, 0.4, 1.0])
def test_erratum_1_the_logistic_slope(leak):
    """One step of `gradient_descent` is W + ηẆ with y, not with W₂σ(W₁x), on top of 1/(e^{yf} + 1)."""
    data, step = labelled(0), 0.1
    network = bf.networks.gaussian((3, 5, 1), scale=1.0, leak=leak, seed=0)
    after = bf.gradient_descent(network, data, step=step, steps=1, loss="logistic")[-1]
    moved = [(new - old) / step for new, old in zip(after.weights, network.weights, strict=True)]
    ours, theirs = slopes(network, data, printed=False), slopes(network, data, printed=True)
    for seen, right, wrong in zip(moved, ours, theirs, strict=True):
        np.testing.assert_allclose(seen, right, rtol=1e-11, atol=1e-13)
        assert np.linalg.norm(seen - wrong) > 0.3 * np.linalg.norm(seen)


def test_erratum_1_the_logistic_loss():
    """ln(1 + e^{−yf}) falls along the simulated path; the printed ln(1 + e^{+yf}) rises."""
    data, network = labelled(1), bf.networks.rank_one([1.0, 0.5, -0.2], width=4, scale=0.5)
    path = bf.gradient_descent(network, data, step=0.1, steps=20, save_every=5, loss="logistic")
    right = [np.log1p(np.exp(-data.y * net(data.x))).mean() for net in path]
    wrong = [np.log1p(np.exp(data.y * net(data.x))).mean() for net in path]
    np.testing.assert_allclose(path.loss, right, rtol=1e-13)
    assert (np.diff(right) < 0).all()
    assert (np.diff(wrong) > 0).all()


def test_erratum_3_the_axis_on_which_curves_collapse():
    """Losses of all leaks are one curve of ct, the linear network's time; of t/c they are not."""
    data, rescaled = bf.data.odd_sine(n=20, d=3, seed=2), np.linspace(0, 6, 7)
    linear = bf.networks.rank_one([1.0, 0.5, -0.2], width=4, scale=0.1, leak=1.0)
    for leak in (0.0, 0.5):
        c, network = (1 + leak) / 2, bf.theory.from_linear_twin(linear, leak=leak)
        expected = oracles.flow(linear, data, rescaled)
        simulated = bf.gradient_descent(network, data, step=1e-3 / c, steps=6000, save_every=1000)
        np.testing.assert_allclose(c * simulated.ts, rescaled, rtol=1e-12)
        twin = [oracles.loss(bf.Network(w, leak=1.0), data) for w in zip(*expected, strict=True)]
        # forward Euler at cη = 1e-3 is off by its first order, s²·t·η ~ 1e-2 in the logarithm of the weights
        np.testing.assert_allclose(simulated.loss, twin, rtol=0.02)
        wrong = bf.theory.reduced_flow(network, data, c * rescaled)
        assert np.abs(wrong.loss / twin - 1).max() > 0.1
