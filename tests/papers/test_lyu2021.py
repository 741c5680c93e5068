"""Lyu et al. in small: few samples, widths and draws, short times."""

import numpy as np
import pytest

import biasfree as bf
from biasfree.trajectory import Stats
from biasfree_papers.lyu2021 import EXPERIMENT, extra, linear, margins
from biasfree_papers.lyu2021 import numbers as runs

OURS = 5


def test_numbers(numbers):
    assert numbers["width2_share"].shape == (len(numbers["width2_ts"]), 2, 2)
    assert numbers["extra_margin"].shape == (2, 121, 2, 1, 2)  # sizes, times, leaks, scales, seeds
    assert numbers["width4_angle"][-1].max() < numbers["width4_angle"][2].max()


def test_the_largest_margin_by_hand(numbers):
    """|W₁|² = |W₂|² = |w|/c makes min y f/|θ|² = 1·c/(2|w|); by neurons of one sign α/(2|w|)."""
    np.testing.assert_allclose(numbers["width2_embedded"], 1, rtol=1e-12)
    np.testing.assert_allclose(numbers["width2_embedded_one_signed"], [[0, 0], [2 / 3, 2 / 3]], atol=1e-12)
    np.testing.assert_allclose(numbers["extra_w"], [np.sqrt(2), 0], atol=1e-12)


def test_narrow_networks_are_what_they_are_without_padding():
    data = runs.separable({"samples": 3, "gap": 0.3, "data_seed": 1}, 2, 0)
    network = bf.networks.gaussian((2, 3, 1), scale=0.1, leak=0.2)
    wide = runs._widened(network, 50)
    assert wide.sizes == (2, 50, 1)
    np.testing.assert_allclose(wide(data.x), network(data.x), rtol=1e-14)
    course = runs._narrowed(standing(wide), 3)
    assert course.leak == 0.2
    for own, given in zip(course[-1].weights, network.weights, strict=True):
        np.testing.assert_array_equal(own, given)


def standing(network):
    """A trajectory along which nothing moves."""
    weights, loss = tuple(np.stack([w, w]) for w in network.weights), np.ones(2)
    return bf.Trajectory(np.arange(2.0), weights, loss, loss, network.leak, Stats("none"))


def test_extra_sample_is_on_the_right_side():
    """So that it changes neither the classifier nor the largest margin."""
    for size in (1.0, 10.0):
        without, one_more = (bf.theory.max_margin(extra.with_extra(s)).w for s in (0.0, size))
        np.testing.assert_allclose(one_more, without, atol=1e-12)
    turned = bf.theory.max_margin(extra.with_extra(2.0, 95.0)).w
    assert abs(turned[1]) > 0.1


def test_the_better_network_has_the_largest_margin(numbers):
    best = bf.theory.neighbors.planar_max_margin(extra.with_extra(2.0, 95.0))
    assert numbers["beyond_better"][0] == pytest.approx(best.margin, rel=1e-12)
    assert numbers["beyond_better"][0] > numbers["beyond_linear"][0]


def test_every_draw_has_its_own_data():
    settings = EXPERIMENT.settle(EXPERIMENT.small)
    one, other = runs.draws_of(settings, 2)
    assert not np.allclose(one.x, other.x)
    np.testing.assert_array_equal(runs.draws_of({**settings, "seed": 1}, 2)[0].x, other.x)


def test_the_papers_are_judged_by_their_limit_and_one_layers_rate_is_a_claim_of_its_own(numbers):
    """1/ln t halves the angle while ln t doubles; 1/ln²t leaves a quarter, and is not that rate."""
    ts = numbers["width2_ts"]
    for power, falls, as_one_layer in (
        (1, True, True),
        (2, True, False),
        (0.5, True, False),
        (-1, False, False),
    ):
        angle = np.ones((1, 2, 2)) / np.log(np.maximum(ts, 1.1)).reshape(-1, 1, 1) ** power
        claims = EXPERIMENT.claims({**numbers, "width2_angle": angle, "width4_angle": angle})
        rate = next(claim for claim in claims if "as one linear layer does" in claim.sentence)
        assert (claims[OURS].kind, claims[OURS].holds, claims[OURS].basis) == ("paper", falls, "stated"), (
            power
        )
        assert (rate.kind, rate.holds) == ("observed", as_one_layer), power


def test_draws_of_one_sign_and_larger_starts_do_not_count_against_the_papers(numbers):
    """Neither what no theorem is about, nor scales that are not the least."""
    axes = {"extra_margin": 3, "extra_exponent": 2, "beyond_margin": 2}  # those of the scales
    two = {name: np.repeat(numbers[name], 2, axis=axis) for name, axis in axes.items()}
    numbers = {**numbers, **two, "extra_scales": np.array([1e-3, 1e-2])}
    spoilt = {name: value.copy() for name, value in numbers.items()}
    for width in (2, 4):
        one_signed = numbers[f"width{width}_one_signed"] & (numbers["leaks"] < 1)[:, None]
        spoilt[f"width{width}_share"][:, one_signed] = -1.0
    spoilt["extra_margin"][:, :, :, 1:] = 1.0
    spoilt["beyond_margin"][:, :, 1:] = 1.0
    kept, lost = (
        [claim.measured for claim in EXPERIMENT.claims(one) if claim.kind == "paper"]
        for one in (numbers, spoilt)
    )
    assert kept == lost
    larger = [claim for claim in EXPERIMENT.claims(spoilt) if "from larger starts" in claim.sentence]
    assert [(claim.kind, claim.holds) for claim in larger] == [("observed", False)] * 2


def test_angles_while_ln_t_doubles():
    ts = np.append(0, np.geomspace(1, 1e8, 40))
    for power in (1.0, 0.5):
        values = 1 / (1 + np.log(np.maximum(ts, 1)))[:, None] ** power
        wanted = ((1 + np.log(1e4)) / (1 + np.log(1e8))) ** power
        np.testing.assert_allclose(linear.while_log_doubles(ts, values), wanted, rtol=1e-3)


def test_two_linear_layers_turn_as_the_support_spans_or_not():
    """In the plane with one sample on the margin, W₁ off it stands still: angle ∝ 1/|W₁| ∝ 1/√ln t."""
    one = bf.data.symmetrize(bf.Dataset(np.array([[1.0, 0], [2, 1], [3, 1]]), np.ones(3)))
    two = bf.data.symmetrize(bf.Dataset(np.array([[1.0, 0.5], [1, -0.2], [2, 1]]), np.ones(3)))
    assert [linear.spans(data) for data in (one, two)] == [False, True]
    starts = [bf.networks.rank_one(data.beta, width=2, scale=0.1, leak=1.0) for data in (one, two)]
    courses = bf.long_descent(starts, [one, two], horizon=1e100)
    ratios = linear.while_log_doubles(courses[0].ts, margins.angles(courses, [one, two]))
    np.testing.assert_allclose(ratios, [0.5**0.5, 0.5], atol=0.05)  # corrections are some 1/ln t, ln t = 230


def test_refusals():
    with pytest.raises(ValueError, match="horizon must be 100 or more, got 10"):
        EXPERIMENT.settle({"horizon": 10})
    with pytest.raises(ValueError, match="sizes must be 1 or more different numbers from 1"):
        EXPERIMENT.settle({"sizes": (0.5,)})
