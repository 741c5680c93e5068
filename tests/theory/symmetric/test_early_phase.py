"""[ZSL25] Lemma 12 and its sharper form: bounds on the growth of weights, and the early phase."""

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import booleans, floats, integers

import biasfree as bf
import oracles
from oracles import kinked_flow
from refusals import refused

leaks, seeds = floats(0, 1), integers(0, 2**31)


def norms(path):
    """The larger norm of a layer at every time."""
    return np.max([np.linalg.norm(w, axis=(1, 2)) for w in path], axis=0)


@settings(max_examples=15)
@given(
    leak=leaks,
    width=integers(2, 9),
    d=integers(1, 4),
    seed=seeds,
    scale=floats(1e-3, 0.9),
    any_data=booleans(),
    offset=floats(-10, 10),
)
def test_lemma_12_within_its_window(leak, width, d, seed, scale, any_data, offset):
    """u(t) ≤ u(0)e^{(s + TrΣ)t} on symmetric data; with √(⟨y²⟩TrΣ) in place of s on any."""
    data = oracles.random_data(9, d, seed=seed)
    data = bf.Dataset(data.x, data.y + offset) if any_data else bf.data.symmetrize(data)
    network = bf.networks.gaussian((d, width, 1), scale=scale, leak=leak, seed=seed)
    if (window := bf.theory.lemma12_window(network, data, any_data=any_data)) == 0:
        return
    ts = np.linspace(0, window, 5)
    bound = bf.theory.lemma12_bound(network, data, ts, any_data=any_data)
    # kinks of the reference are rounded
    assert (norms(kinked_flow(network, data, ts)) <= bound * (1 + 1e-5)).all()


@settings(max_examples=15)
@given(leak=leaks, width=integers(2, 9), d=integers(1, 4), seed=seeds, scale=floats(1e-3, 2))
def test_sharper_bound_for_all_times(leak, width, d, seed, scale):
    """u(t) ≤ u(0)e^{cst} on symmetric data, through the plateau and after it."""
    data = bf.data.symmetrize(oracles.random_data(5, d, seed=seed))
    network = bf.networks.gaussian((d, width, 1), scale=scale, leak=leak, seed=seed)
    ts = np.linspace(0, 5, 6)
    assert (
        norms(kinked_flow(network, data, ts)) <= bf.theory.norm_bound(network, data, ts) * (1 + 1e-5)
    ).all()


def test_the_sharper_bound_is_reached():
    """By the aligned network while its outputs are negligible: no smaller rate will do."""
    data = bf.data.odd_sine(n=9, d=3, seed=0)
    network = bf.networks.rank_one(data.beta, width=4, scale=1e-8)
    t = [10.0]
    grown = norms(kinked_flow(network, data, [0.0, *t]))[-1]
    assert grown == pytest.approx(bf.theory.norm_bound(network, data, t)[0], rel=1e-4)
    assert grown < bf.theory.lemma12_bound(network, data, t)[0] / 1e3


@settings(max_examples=15)
@given(
    leak=leaks,
    width=integers(2, 9),
    d=integers(1, 4),
    seed=seeds,
    scale=floats(1e-6, 1e-2),
    phase=floats(0, 1),
)
def test_early_flow_errs_less_than_its_bound(leak, width, d, seed, scale, phase):
    """Theorem 13 with all three terms of Eq. 23; what is left out is bounded for all times."""
    data = bf.data.symmetrize(oracles.random_data(5, d, seed=seed))
    network = bf.networks.gaussian((d, width, 1), scale=scale, leak=leak, seed=seed)
    end = phase * np.log(0.1 / scale) / bf.theory.growth_rate(network, data)
    ts = np.linspace(0, end, 4) if end > 0 else np.array([0.0])
    solved = bf.theory.early_flow(network, data, ts, small_tolerance=np.inf, target_tolerance=np.inf)
    bound = bf.theory.early_error(network, data, ts)
    if end > 0:
        path = kinked_flow(network, data, ts)
        pairs = zip(path, solved.weights, strict=True)
        gaps = np.sqrt(sum(np.sum((a - b) ** 2, axis=(1, 2)) for a, b in pairs))
        assert (gaps <= bound + 1e-5 * norms(path)).all()  # and the reference's own error


@pytest.mark.parametrize("kind", ["square", "logistic"])
@pytest.mark.parametrize("l2", [0.0, 0.1])
def test_rates_of_both_losses_and_l2(kind, l2):
    """κ = cs, or cs/2 for the logistic loss; L2 multiplies everything by e^{−λt}."""
    data = bf.data.odd_sine(n=9, d=3, seed=1)
    data = data if kind == "square" else bf.Dataset(data.x, np.sign(data.y))
    network = bf.networks.gaussian((3, 5, 1), scale=1e-7, leak=0.3, seed=2)
    ts = np.linspace(0, 5, 4)
    solved = bf.theory.early_flow(network, data, ts, loss=kind, l2=l2)
    # outputs of 1e-14·e^{2κt} < 1e-10 are left out; the rest is the reference's error at kinks
    assert oracles.distance(solved, kinked_flow(network, data, ts, kind=kind, l2=l2)) < 1e-5
    assert solved.loss[0] == pytest.approx(oracles.loss(network, data, kind), rel=1e-13)
    penalty = oracles.penalty(solved[-1], l2)
    assert solved.objective[-1] == pytest.approx(oracles.loss(solved[-1], data, kind) + penalty, rel=1e-13)


@settings(max_examples=30)
@given(leak=leaks, seed=seeds, scale=floats(1e-60, 1e-4), size=floats(0.3, 3))
def test_the_escape_is_in_the_middle_of_the_sigmoid(leak, seed, scale, size):
    """On white input the map has half its final norm at `escape_time`."""
    white = bf.data.whiten(bf.data.odd_sine(n=12, d=3, seed=seed))
    data = bf.Dataset(size * white.x, white.y)
    network = bf.networks.rank_one(data.beta, width=5, scale=scale, leak=leak)
    t = bf.theory.escape_time(network, data, small_tolerance=1)
    half, end = np.linalg.norm(bf.theory.white_flow(network, data, [t, np.inf]).maps[:, 0], axis=1)
    # u₀² is 1e-8 of s/ν at most times (1/size) and c
    assert half == pytest.approx(end / 2, rel=1e-5)


def test_the_measured_plateau_ends_before_the_escape():
    """White input: the map is half of its end at the escape, so that three quarters of the fall are over.

    A fraction q of the fall is over at the escape less ln(1/m − 1)/(2κ), m = 1 − √(1 − q).
    """
    data = bf.data.whiten(bf.data.odd_sine(n=40, d=3, seed=0))
    network = bf.networks.rank_one(data.beta, width=6, scale=1e-6)
    escape, rate = bf.theory.escape_time(network, data), bf.theory.growth_rate(network, data)
    run = bf.theory.white_flow(network, data, np.append(np.linspace(0, 2 * escape, 2001), np.inf))
    fallen = (run.loss[0] - run.loss) / (run.loss[0] - run.loss[-1])
    assert np.interp(escape, run.ts[:-1], fallen[:-1]) == pytest.approx(0.75, abs=1e-4)  # of the grid
    (first, *_) = bf.diagnostics.plateaus(run, data)
    over = np.interp(first.end, run.ts[:-1], fallen[:-1])
    assert 0 < over < 0.1  # the loss has hardly begun to fall
    m = 1 - np.sqrt(1 - over)
    assert first.end == pytest.approx(escape - np.log(1 / m - 1) / (2 * rate), rel=1e-3)


def test_plateau_with_l2_and_logistic_loss():
    data = bf.data.odd_sine(n=30, d=3, seed=1)
    labels = bf.Dataset(data.x, np.sign(data.y))
    network = bf.networks.gaussian((3, 20, 1), scale=1e-7, seed=2)
    c_s = bf.theory.growth_rate(network, data)
    assert bf.theory.growth_rate(network, data, l2=0.1) == pytest.approx(c_s - 0.1)
    assert bf.theory.escape_time(network, data, l2=2 * c_s) == np.inf
    for kind, set_ in (("square", data), ("logistic", labels)):
        end = bf.theory.escape_time(network, set_, loss=kind)
        solved = bf.theory.reduced_flow(
            bf.theory.aligned(network, set_), set_, [0, end / 2, end, 2 * end], loss=kind
        )
        drop = (solved.loss[0] - solved.loss) / (solved.loss[0] - solved.loss[-1])
        # half way to the end the map is the square root of its initial size; at the end it is of order one
        assert drop[1] < 1e-5
        assert 0.2 < drop[2] < 0.98


def test_the_window_is_shorter_than_the_plateau():
    """Erratum 4: Lemma 12's window for the linear network of Fig. 3 is 0.87, its plateau about 14."""
    data = bf.data.odd_sine(seed=0)
    network = bf.networks.gaussian((20, 500, 1), scale=1e-8, leak=1.0, seed=0)
    assert bf.theory.lemma12_window(network, data) == pytest.approx(0.87, abs=0.03)
    assert 12 < bf.theory.escape_time(network, data) < 16


def test_refusals():
    data = bf.data.odd_sine(n=9, d=3, seed=1)
    network = bf.networks.gaussian((3, 5, 1), scale=1e-7, seed=2)
    refused("outputs matter at t = 100: end ts earlier", bf.theory.early_flow, network, data, [0, 100.0])
    refused("Condition 3", bf.theory.norm_bound, network, bf.Dataset(data.x[:9], data.y[:9]), [1.0])
    assert bf.theory.lemma12_window(bf.networks.gaussian((3, 5, 1), scale=3.0), data) == 0


def nearly_cancelled(data, rest, leak):
    """W₂ = −(1 − rest)W₁β̄, of weights of 1e-160: all but `rest` of the weights shrinks."""
    first = 1e-160 * np.random.default_rng(0).normal(size=(3, data.dimensions))
    along = first @ data.beta / np.linalg.norm(data.beta)
    return bf.Network((first, ((rest - 1) * along)[None]), leak=leak)


@pytest.mark.parametrize("leak", [0.0, 1.0])
def test_what_rounding_decides_is_refused(leak):
    """Against β the weights shrink as e^{−κt}, and what rounding left of r₁ grows as e^{κt}."""
    data = bf.data.odd_sine(n=8, d=3, seed=0)
    for rest in (0.0, 1e-12):
        network = nearly_cancelled(data, rest, leak)
        kappa = bf.theory.growth_rate(network, data)
        bf.theory.early_flow(network, data, [0.0, 5 / kappa])
        with pytest.raises(bf.AssumptionError, match=r"r₁ is more than rounding.*end ts earlier"):
            bf.theory.early_flow(network, data, [0.0, 45 / kappa])


@pytest.mark.parametrize("rest", [1e-2, 1e-4, 1e-6])
def test_what_is_left_of_a_cancellation_is_accurate(rest):
    """W₂ of Eq. 23 with 50 digits: r₁ is a sum of D + 1 products, each known to rounding of W(0)."""
    data = bf.data.odd_sine(n=8, d=3, seed=0)
    network = nearly_cancelled(data, rest, 0.3)
    t = 45 / bf.theory.growth_rate(network, data)
    run = bf.theory.early_flow(network, data, [t])
    with mpmath.workdps(50):
        beta = mpmath.matrix(data.x.tolist()).T * mpmath.matrix(data.y.tolist()) / len(data)
        s = mpmath.norm(beta)
        along = mpmath.matrix(network.weights[0].tolist()) * beta / s
        kappa = mpmath.mpf(0.65) * s
        for h, a in enumerate(network.weights[1][0]):
            growing, falling = (along[h] + float(a)) / 2, (along[h] - float(a)) / 2
            exact = mpmath.exp(kappa * t) * growing - mpmath.exp(-kappa * t) * falling
            # and 45 roundings of e^{κt}
            assert abs(run.weights[1][0, 0, h] / exact - 1) < run.stats.defects["rounding"] + 1e-13
