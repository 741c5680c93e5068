"""Lyu et al. in small: few samples, widths and seeds, short times."""

import numpy as np
import xarray

import biasfree as bf
from biasfree_papers.lyu2021 import compute
from biasfree_papers.lyu2021.compute import with_extra


def test_numbers(numbers):
    assert numbers.share.sizes == {"width": 2, "leak": 2, "seed": 2}
    assert numbers.extra_share.sizes.keys() == {"extra_leak", "scale", "seed", "extra_time"}
    assert (numbers.angle_ratio < 1).all()
    widest = numbers.angle.isel(width=-1)
    assert widest.isel(time=-1).max() < widest.isel(time=2).max()


def test_one_sign_at_the_end_is_one_of_the_growing_part(numbers):
    """r₁ = (W₁(0)β̄ + W₂(0)ᵀ)/2 of small weights: a seed of two neurons has one sign with chance ½."""
    for seed in (0, 1):
        (data,) = compute.separable(compute.Settings(**{**compute.SMALL, "seeds": 1, "seed": seed}), 2)
        first, second = bf.networks.gaussian((2, 2, 1), scale=1e-3, seed=seed).weights
        grows = first @ (data.beta / np.linalg.norm(data.beta)) + second[0]
        lesser = numbers.lesser.sel(width=2, seed=seed)
        assert ((lesser <= 1e-6) == (grows[0] * grows[1] > 0)).all()


def test_extra_sample_is_on_the_right_side():
    """So that it changes neither the classifier nor the largest margin."""
    for size in (1.0, 10.0):
        without, one_more = (bf.theory.max_margin(with_extra(s)).w for s in (0.0, size))
        np.testing.assert_allclose(without, [np.sqrt(2), 0], atol=1e-12)
        np.testing.assert_allclose(one_more, without, atol=1e-12)


def test_every_seed_has_its_own_data(experiment):
    small = dict(experiment.small)
    one, other = compute.separable(compute.Settings(**small), 2)
    assert not np.allclose(one.x, other.x)
    np.testing.assert_array_equal(compute.separable(compute.Settings(**small, seed=1), 2)[0].x, other.x)


def test_seeds_of_one_sign_do_not_count_against_the_papers(experiment, numbers):
    one = (numbers.seed == 0) & (numbers.leak < 1) & (numbers.width == 2)
    numbers = numbers.assign(lesser=xarray.where(one, 0.0, 0.1).transpose(*numbers.lesser.dims))
    spoilt = numbers.assign(missing_ratio=numbers.missing_ratio.where(~one, 2.0))
    kept, lost = ([claim.measured for claim in experiment.claims(given)] for given in (numbers, spoilt))
    assert kept == lost


def test_while_ln_t_doubles():
    ts = np.append(0, np.geomspace(1, 1e8, 40))
    for power in (1.0, 0.5):
        values = 1 / (1 + np.log(np.maximum(ts, 1)))[:, None] ** power
        wanted = ((1 + np.log(1e4)) / (1 + np.log(1e8))) ** power
        np.testing.assert_allclose(compute.while_log_doubles(ts, values), wanted, rtol=1e-3)


def test_two_linear_layers_turn_as_the_support_spans_or_not():
    """In the plane with one sample on the margin, W₁ off it stands still: angle ∝ 1/|W₁| ∝ 1/√ln t."""
    one = bf.data.symmetrize(bf.Dataset(np.array([[1.0, 0], [2, 1], [3, 1]]), np.ones(3)))
    two = bf.data.symmetrize(bf.Dataset(np.array([[1.0, 0.5], [1, -0.2], [2, 1]]), np.ones(3)))
    assert [compute.spans(data) for data in (one, two)] == [False, True]
    starts = [bf.networks.rank_one(data.beta, width=2, scale=0.1, leak=1.0) for data in (one, two)]
    courses = bf.long_descent(starts, [one, two], horizon=1e100)
    ratios = compute.while_log_doubles(courses[0].ts, compute.angles(courses, [one, two]))
    np.testing.assert_allclose(ratios, [0.5**0.5, 0.5], atol=0.05)  # corrections are some 1/ln t, ln t = 230
