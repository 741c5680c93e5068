"""Lyu et al. in small: few samples, widths and seeds, short times."""

import numpy as np
import pytest
import xarray

import biasfree as bf
from biasfree_papers.lyu2021 import compute
from biasfree_papers.lyu2021.extra import extrapolated, with_extra


def test_numbers(numbers):
    assert numbers.share.sizes == {"set": 2, "leak": 2, "seed": 2}
    assert dict(numbers.extra_share.sizes)["extra_time"] == 121
    assert numbers.angle[-1].max() < numbers.angle[2].max()
    assert (numbers.exactly_one_signed <= numbers.one_signed).all()


def test_networks_built_of_one_sign_attain_their_level(numbers):
    """By hand: of margin α/(2|w*|), which is 2α/(1+α) of c/(2|w*|)."""
    np.testing.assert_allclose(numbers.built.sel(leak=0.5), 2 / 3, atol=1e-12)
    np.testing.assert_allclose(numbers.built.sel(leak=0.0), 0, atol=1e-12)


def test_narrow_networks_are_what_they_are_without_padding():
    network = bf.networks.gaussian((2, 3, 1), scale=0.1, leak=0.2)
    wide = compute.widened(network, 47)
    x = np.random.default_rng(0).normal(size=(6, 2))
    assert wide.sizes == (2, 50, 1)
    np.testing.assert_allclose(wide(x), network(x), rtol=1e-14)


def test_extra_sample_is_on_the_right_side():
    """So that it changes neither the classifier nor the largest margin."""
    for size in (1.0, 10.0):
        without, one_more = (bf.theory.max_margin(with_extra(s)).w for s in (0.0, size))
        np.testing.assert_allclose(without, [np.sqrt(2), 0], atol=1e-12)
        np.testing.assert_allclose(one_more, without, atol=1e-12)
    assert abs(bf.theory.max_margin(with_extra(2.0, 95.0)).w[1]) > 0.1


def test_the_better_network_is_better_than_the_linear_one(numbers):
    best = bf.theory.neighbors.planar_max_margin(with_extra(2.0, 95.0))
    assert numbers.neurons == best.network.sizes[1]
    assert numbers.beyond_linear < 1
    assert (numbers.beyond_share <= 1 + 1e-9).all()


def test_every_seed_has_its_own_data(experiment):
    small = dict(experiment.small)
    one, other = compute.separable(compute.Settings(**small), 2)
    assert not np.allclose(one.x, other.x)
    np.testing.assert_array_equal(compute.separable(compute.Settings(**small, seed=1), 2)[0].x, other.x)


def test_what_no_theorem_is_about_does_not_count_against_the_papers(experiment, numbers):
    """Neither seeds of one sign, nor scales that are not the least."""
    one = (numbers.seed == 0) & (numbers.leak < 1) & (numbers.width == 2)
    numbers = numbers.assign(one_signed=one.transpose(*numbers.one_signed.dims))
    by_scale = ["extra_share", "bound_ratio", "exponent", "beyond_share", "beyond_limit"]
    larger = numbers[by_scale].assign_coords(scale=[1e-2])
    numbers = xarray.concat([numbers[by_scale], larger], "scale").merge(numbers.drop_dims("scale"))
    spoilt = numbers.assign(
        missing_ratio=numbers.missing_ratio.where(~one, 2.0),
        extra_share=numbers.extra_share.where(numbers.scale < 1e-2, 1.0),
        beyond_limit=numbers.beyond_limit.where(numbers.scale < 1e-2, 1.0),
    )
    kept, lost = (
        [claim.measured for claim in experiment.claims(given) if claim.kind == "paper"]
        for given in (numbers, spoilt)
    )
    assert kept == lost


def test_while_ln_t_doubles():
    ts = np.append(0, np.geomspace(1, 1e8, 40))
    for power in (1.0, 0.5):
        values = 1 / (1 + np.log(np.maximum(ts, 1)))[:, None] ** power
        wanted = ((1 + np.log(1e4)) / (1 + np.log(1e8))) ** power
        np.testing.assert_allclose(compute.while_log_doubles(ts, values), wanted, rtol=1e-3)


def test_a_limit_that_is_reached_as_one_over_ln_t_is_extrapolated_exactly():
    ts = np.append(0, np.geomspace(2, 1e8, 40))
    margin = 0.9 - 0.4 / np.log(np.maximum(ts, 2))[:, None]
    np.testing.assert_allclose(extrapolated(ts, margin), 0.9, rtol=1e-12)


def test_two_linear_layers_turn_as_the_support_spans_or_not():
    """In the plane with one sample on the margin, W₁ off it stands still: angle ∝ 1/|W₁| ∝ 1/√ln t."""
    one = bf.data.symmetrize(bf.Dataset(np.array([[1.0, 0], [2, 1], [3, 1]]), np.ones(3)))
    two = bf.data.symmetrize(bf.Dataset(np.array([[1.0, 0.5], [1, -0.2], [2, 1]]), np.ones(3)))
    assert [compute.spans(data) for data in (one, two)] == [False, True]
    starts = [bf.networks.rank_one(data.beta, width=2, scale=0.1, leak=1.0) for data in (one, two)]
    courses = bf.long_descent(starts, [one, two], horizon=1e100)
    ratios = compute.while_log_doubles(courses[0].ts, compute.angles(courses, [one, two]))
    np.testing.assert_allclose(ratios, [0.5**0.5, 0.5], atol=0.05)  # corrections are some 1/ln t, ln t = 230


def test_refusals(experiment):
    with pytest.raises(ValueError, match="horizon must be 100 or more, got 10"):
        experiment.settle({"horizon": 10})
    with pytest.raises(ValueError, match="sizes must be 1 or more different numbers from 1"):
        experiment.settle({"sizes": (0.5,)})
