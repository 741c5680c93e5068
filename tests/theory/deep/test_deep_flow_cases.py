"""The flow of deep networks and their structure: scales, plateaus, limits, refusals and wrong calls."""

import numpy as np
import pytest

import biasfree as bf
from biasfree.networks import low_rank
from biasfree.theory import DeepParts, deep_flow, deep_linear_twin, deep_map, deep_slope
from refusals import invalid, refused

DATA = bf.data.linear_teacher(n=20, d=3, seed=0)
DIRECTION = DATA.beta + 0.1
START = low_rank(DIRECTION, widths=(5, 6), scale=0.4, seed=1)


def refusal(network, data=DATA):
    with pytest.raises(bf.theory.AssumptionError) as caught:
        deep_flow(network, data, [1.0])
    return str(caught.value)


@pytest.mark.parametrize("leak", [0.0, 1.0])
def test_layers_have_equal_norms_and_ranks_of_one_or_two(leak):
    network = low_rank(DIRECTION, widths=(5, 2, 7), scale=0.3, leak=leak, seed=4)
    assert network.sizes == (3, 5, 2, 7, 1)
    np.testing.assert_allclose(network.norms, 0.3, rtol=1e-14)
    ranks = [np.linalg.matrix_rank(w) for w in network.weights]
    assert ranks == ([1, 1, 1, 1] if leak else [1, 2, 2, 1])
    if leak == 0:
        assert all((w >= 0).all() for w in network.weights[1:-1])
    for v in DeepParts.of(network).neurons:
        np.testing.assert_allclose([np.sum(v[v > 0] ** 2), np.sum(v[v < 0] ** 2)], 0.5, rtol=1e-13)


def test_one_seed_gives_relu_and_linear_the_same_neurons():
    """Positive entries of the middle layers sit where the linear network's are, √2 times as large."""
    linear = low_rank(DIRECTION, widths=(5, 6), scale=0.4, leak=1.0, seed=1)
    np.testing.assert_allclose(START.weights[1], np.sqrt(2) * np.maximum(linear.weights[1], 0), atol=1e-16)
    for i in (0, 2):
        np.testing.assert_array_equal(START.weights[i], linear.weights[i])
    twin = deep_linear_twin(START)
    for one, other in zip(twin.weights, linear.weights, strict=True):
        np.testing.assert_allclose(one, other / np.sqrt(2), rtol=1e-13, atol=1e-16)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"leak": 0.3}, r"leak must be 0 or 1, got 0.3: .* use bf.networks.rank_one"),
        ({"leak": np.nan}, r"leak must be 0 or 1, got nan"),
        ({"widths": ()}, r"widths must be the width of each hidden layer, .* got \(\)"),
        ({"widths": 5}, r"widths must be the width of each hidden layer, .* got 5"),
        ({"widths": (5, 1)}, r"a width must be a whole number of at least 2, got 1"),
        ({"scale": 0.0}, r"scale must be positive"),
        ({"direction": [0.0, 0.0]}, r"direction must be a nonzero vector"),
        ({"direction": [1.0, np.nan]}, r"direction must be finite"),
    ],
)
def test_constructor_refuses(wrong, message):
    call = {"direction": DIRECTION, "widths": (5, 6), "scale": 0.4} | wrong
    invalid(message, low_rank, call.pop("direction"), **call)


@pytest.mark.parametrize("scale", [1e-200, 1e-100, 1.0, 1e200])
@pytest.mark.parametrize("leak", [0.0, 1.0])
@pytest.mark.parametrize("widths", [(4,), (5, 6), (3, 4, 5, 2)])
def test_parts_at_any_scale(scale, leak, widths):
    """Recovered to rounding: nothing under- or overflows on the way."""
    network = low_rank(DIRECTION, widths=widths, scale=scale, leak=leak, seed=2)
    parts = DeepParts.of(network)
    assert parts.norm == pytest.approx(scale, rel=1e-14)
    np.testing.assert_allclose(parts.r, DIRECTION / np.linalg.norm(DIRECTION), rtol=1e-13)
    assert parts.residual(network) < 1e-14
    assert parts.imbalance < 1e-14
    for one, other in zip(parts.network().weights, network.weights, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13, atol=1e-15 * scale)


def test_parts_of_unequal_signs_are_recovered():
    """Eq. 40 without |r_l⁺| = |r_l⁻| is still Eq. 40: only the hypothesis on signs is missed."""
    even = DeepParts.of(low_rank(DIRECTION, widths=(6, 6, 6), scale=0.7))
    longer = [np.where(v > 0, (1.5, 0.8, 3)[i] * v, v) for i, v in enumerate(even.neurons)]
    neurons = tuple(v / np.linalg.norm(v) for v in longer)
    network = DeepParts(0.7, even.r, neurons, 0.0).network()
    found = DeepParts.of(network)
    assert found.residual(network) < 1e-14
    np.testing.assert_allclose(found.neurons, neurons, rtol=1e-12)
    assert found.norm == pytest.approx(0.7, rel=1e-13)
    gap = max(abs(np.sum(np.sign(v) * v**2)) for v in neurons)
    assert found.imbalance == pytest.approx(gap, rel=1e-12)
    assert f"|r_l⁻|²| is {gap:.3g}" in refusal(network)


@pytest.mark.parametrize("leak", [0.0, 1.0])
def test_residual_measures_the_distance(leak):
    network = low_rank(DIRECTION, widths=(5, 6), scale=0.4, leak=leak, seed=1)
    rng = np.random.default_rng(0)
    noise = [rng.normal(size=w.shape) for w in network.weights]
    norm = np.sqrt(sum(np.sum(w**2) for w in noise)) / np.linalg.norm(network.norms)
    for size in (1e-2, 1e-5):
        weights = (w + size / norm * e for w, e in zip(network.weights, noise, strict=True))
        moved = bf.Network(tuple(weights), leak=leak)
        # at most the noise added; its part along the structure, 15 of 51 dimensions and more, does not count
        assert 0.3 * size < DeepParts.of(moved).residual(moved) < 1.5 * size


def test_refusals():
    relu, w = START, START.weights
    assert "low-rank structure of Conjecture 11" in refusal(bf.networks.gaussian((3, 5, 6, 1), scale=0.1))
    assert "low-rank structure of Conjecture 11" in refusal(bf.Network((w[0], w[1], 2 * w[2])))
    assert "bf.networks.low_rank" in refusal(bf.Network((w[0], w[1], 0 * w[2])))
    assert "α = 0 or 1" in refusal(bf.Network(w, leak=0.5))
    assert "two or more layers" in refusal(bf.Network((DIRECTION[None],)))
    assert "no biases" in refusal(bf.Network(w, biases=tuple(np.zeros(len(v)) for v in w)))
    assert "Condition 3" in refusal(relu, bf.Dataset(DATA.x[:20], DATA.y[:20]))
    two = bf.Network((*w[:-1], np.vstack([w[-1], w[-1]])))
    assert "one output" in refusal(two, bf.Dataset(DATA.x, np.column_stack([DATA.y, DATA.y])))
    # the layers of a ReLU network read as linear are not of the linear structure, nor the other way round
    assert "Eq. 39 for linear networks" in refusal(bf.Network(w, leak=1.0))
    assert "Conjecture 11" in refusal(bf.Network(deep_linear_twin(relu).weights, leak=0.0))
    with pytest.raises(TypeError, match=r"unexpected argument 'signs'; .* structure_tolerance=1e-08"):
        deep_flow(relu, DATA, [1.0], signs=1.0)
    for call in (deep_map, deep_linear_twin, lambda network: deep_slope(network, DATA)):
        refused(r"Conjecture 11", call, bf.Network(w, leak=1.0))


def test_linear_networks_need_no_symmetry():
    data = bf.Dataset(DATA.x[:20], DATA.y[:20] + 1)
    linear = low_rank(DIRECTION, widths=(5, 6), scale=0.4, leak=1.0)
    run = deep_flow(linear, data, [200.0])
    np.testing.assert_allclose(run.maps[0, 0], np.linalg.solve(data.sigma, data.beta), rtol=1e-8)


def test_ends_at_least_squares_with_norms_root_two_apart():
    """(u/√2)^L = |w*| for ReLU, u^L = |w*| for linear networks: u_relu = √2·u_lin at every depth."""
    target = np.linalg.solve(DATA.sigma, DATA.beta)
    for widths in ((4,), (4, 5), (4, 5, 6), (4, 5, 6, 7)):
        u = np.linalg.norm(target) ** (1 / (len(widths) + 1))
        for leak, factor in ((0.0, np.sqrt(2)), (1.0, 1.0)):
            last = deep_flow(low_rank(DIRECTION, widths=widths, scale=0.8, leak=leak), DATA, [400.0])
            # e^{−t} of rates above 0.1 at t = 400, and what DOP853 keeps of 1e-10 per step
            np.testing.assert_allclose(last.maps[0, 0], target, rtol=1e-8)
            np.testing.assert_allclose(last[-1].norms, factor * u, rtol=1e-8)


def test_start_alone_and_start_left_out():
    alone = deep_flow(START, DATA, [0.0])
    for one, other in zip(alone[0].weights, START.weights, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13, atol=1e-16)
    np.testing.assert_allclose(alone.maps[0, 0], deep_map(START), rtol=1e-13)
    both = deep_flow(START, DATA, [0.0, 2.0])
    np.testing.assert_allclose(deep_flow(START, DATA, [2.0]).loss, both.loss[1:], rtol=1e-9)


def test_record_and_file(tmp_path):
    run = deep_flow(START, DATA, [0.0, 3.0], rtol=1e-8)
    assert run.stats.method == "deep_flow"
    assert run.stats.rtol == 1e-8
    expected = "biases depth outputs leak structure signs symmetry hyperplane"
    assert list(run.stats.defects) == expected.split()
    run.save(tmp_path / "run.npz")
    read = bf.Trajectory.load(tmp_path / "run.npz")
    np.testing.assert_array_equal(read.maps, run.maps)
    np.testing.assert_allclose(read[-1](DATA.x), DATA.x @ run.maps[-1, 0], atol=1e-15)


def test_tiny_weights():
    """On the plateau v = v₀(1 − t/t*)^{−1/(L−2)}, t* = 2/((L−2)v₀^{L−2}s), whatever the scale."""
    data = bf.data.whiten(DATA)
    s = np.linalg.norm(data.beta)
    for scale, depth in ((1e-6, 3), (1e-100, 3), (1e-60, 5), (1e-100, 5)):
        network = low_rank(data.beta, widths=(4,) * (depth - 1), scale=scale)
        end = 2 / ((depth - 2) * (scale / np.sqrt(2)) ** (depth - 2) * s)
        run = deep_flow(network, data, [0.0, 0.9 * end])
        # the term left out is (v^L Σ)/s ~ 1e-15 of the one kept; ln v errs by 1e-10 per step, grown tenfold
        np.testing.assert_allclose(run[-1].norms, scale * 0.1 ** (-1 / (depth - 2)), rtol=1e-7)
    still = low_rank(data.beta, widths=(4,) * 5, scale=1e-150)  # v₀⁴ is below the smallest number
    np.testing.assert_allclose(deep_flow(still, data, [0.0, 1.0, 1e300])[-1].norms, 1e-150, rtol=1e-12)


def test_a_transition_that_times_cannot_resolve_is_refused():
    data = bf.data.whiten(DATA)
    network = low_rank(data.beta, widths=(4, 4), scale=1e-100)
    with pytest.raises(RuntimeError, match=r"stopped before the last of ts: .* use a larger scale or end ts"):
        deep_flow(network, data, [1e102])


def test_stiff_method_passes_a_long_plateau():
    network = low_rank(DIRECTION, widths=(4, 4), scale=1e-6)
    run = deep_flow(network, DATA, [0.0, 1e8], method="Radau", rtol=1e-6)
    np.testing.assert_allclose(run.maps[-1, 0], np.linalg.solve(DATA.sigma, DATA.beta), rtol=1e-6)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"loss": "hinge"}, r"unknown loss 'hinge'"),
        ({"loss": "logistic"}, r"needs labels -1 and \+1"),
        ({"l2": -1.0}, r"l2 must not be negative"),
        ({"rtol": 0.0}, r"rtol must be positive"),
    ],
)
def test_wrong_calls(wrong, message):
    invalid(message, deep_flow, START, DATA, [1.0], **wrong)
    invalid(r"match their sizes", deep_flow, START, bf.Dataset(DATA.x[:, :2], DATA.y), [1.0])
    invalid(r"two or more layers and one output", DeepParts.of, bf.Network((DIRECTION[None],)))
