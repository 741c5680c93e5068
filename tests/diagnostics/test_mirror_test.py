"""Mirror inputs, symmetry defects and their p-values."""

from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import integers
from numpy.testing import assert_allclose, assert_equal

import biasfree as bf
from biasfree.diagnostics import symmetry, symmetry_defect
from biasfree.theory import half_space_defect, worst_half_spaces
from refusals import invalid

SINE = bf.data.odd_sine(n=30, d=3, seed=0)


def cloud(p, d, seed, outputs=None):
    rng = np.random.default_rng(seed)
    shape = (p,) if outputs is None else (p, outputs)
    return bf.Dataset(rng.normal(size=(p, d)) + 0.2, rng.normal(size=shape))


def moments(data, r):
    """T_x and T_y at r, written out sample by sample."""
    signs, y = np.sign(data.x @ r), data.targets
    split = sum(s * np.outer(x, x) for s, x in zip(signs, data.x, strict=True)) / len(data)
    cross = sum(s * np.outer(t, x) for s, t, x in zip(signs, y, data.x, strict=True)) / len(data)
    inputs = np.linalg.norm(split, ord=2) / np.linalg.norm(data.sigma, ord=2)
    size = np.sqrt(np.mean(np.sum(y**2, axis=1)) * np.trace(data.sigma))
    return inputs, np.linalg.norm(cross) / size


@pytest.mark.parametrize("outputs", [None, 3])
def test_a_half_space_is_measured_as_defined(outputs):
    data, r = cloud(17, 4, 0, outputs), np.array([1.0, -0.5, 0.2, 2.0])
    found = [half_space_defect(data, r, "inputs"), half_space_defect(data, r, "targets")]
    assert_allclose(found, moments(data, r), rtol=1e-13)  # sums of 17 terms
    assert symmetry_defect(data) <= 1


def test_samples_on_the_hyperplane_to_rounding_are_on_neither_side():
    data = bf.Dataset([[0.3, 0.1], [1.0, 2.0]], [1.0, 1.0])
    assert 0.3 - 3 * 0.1 != 0
    alone = bf.Dataset([[0.3, 0.1]], [1.0])
    assert half_space_defect(alone, np.array([1e15, -3e15]), "inputs") == 0
    expected = 5 / 2 / np.linalg.norm(data.sigma, ord=2)  # |(1, 2)|² over two samples
    assert half_space_defect(data, np.array([1.0, -3]), "inputs") == pytest.approx(expected, rel=1e-14)


@settings(max_examples=30)
@given(p=integers(1, 17), seed=integers(0, 2**31), d=integers(1, 2), outputs=integers(1, 3))
def test_lines_and_planes_are_exact(p, seed, d, outputs):
    """Every half-space of the plane: one direction in each gap between the samples' hyperplanes."""
    data = cloud(p, d, seed, outputs)
    angles = np.sort((np.arctan2(data.x[:, -1], data.x[:, 0]) + np.pi / 2) % np.pi)
    between = angles + np.diff(angles, append=angles[0] + np.pi) / 2
    rs = np.column_stack([np.cos(between), np.sin(between)]) if d == 2 else np.ones((1, 1))
    every = np.array([moments(data, r) for r in rs])
    names: tuple[Literal["inputs", "targets"], ...] = ("inputs", "targets")
    for column, moment in enumerate(names):
        value, r = worst_half_spaces(data, moment)
        assert value[0] == pytest.approx(every[:, column].max(), rel=1e-12)  # sums of at most 17 terms
        assert half_space_defect(data, r[0], moment) == pytest.approx(value[0], rel=1e-12)
        assert np.linalg.norm(r) == pytest.approx(1)
    assert symmetry_defect(data) == pytest.approx(every.max(), rel=1e-12)


@pytest.mark.parametrize("moment", ["inputs", "targets"])
def test_the_search_never_goes_down_and_its_value_is_that_of_its_witness(moment):
    data = cloud(200, 6, 3)
    values = [worst_half_spaces(data, moment, steps=steps)[0][0] for steps in range(0, 24, 3)]
    assert (np.diff(values) >= 0).all()
    assert values[-1] > 1.02 * values[0]
    value, r = worst_half_spaces(data, moment, steps=60)
    exact = half_space_defect(data, r[0], moment)
    assert value[0] <= exact * (1 + 1e-12)  # a power iteration that has not ended gives less
    assert value[0] == pytest.approx(exact, rel=1e-3)


@pytest.mark.parametrize("moment", ["inputs", "targets"])
def test_the_search_beats_many_random_half_spaces(moment):
    data = cloud(60, 4, 5)
    rs = np.random.default_rng(0).normal(size=(3000, 4))
    random = max(half_space_defect(data, r, moment) for r in rs)
    assert worst_half_spaces(data, moment)[0][0] >= random


def test_a_plane_in_space_is_searched_exactly():
    flat = cloud(12, 2, 0)
    tilt = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 2)))[0]
    value, r = worst_half_spaces(bf.Dataset(flat.x @ tilt.T, flat.y), "inputs")
    assert value[0] == pytest.approx(worst_half_spaces(flat, "inputs")[0][0], rel=1e-12)
    assert np.linalg.norm(r[0]) == pytest.approx(1)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_scale_and_rotation_change_nothing(d):
    data = cloud(80, d, 1)
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(d, d)))[0]
    for moment in ("inputs", "targets"):
        value, r = worst_half_spaces(data, moment, starts=32)
        for factor in (1e-150, 1.0, 1e150):
            other = bf.Dataset(factor * data.x @ turn.T, data.y / factor)
            same = half_space_defect(data, r[0], moment)
            assert half_space_defect(other, turn @ r[0], moment) == pytest.approx(same, rel=1e-12)
        # the search from starts that turn with the data; random turns of the circle do not
        assert worst_half_spaces(other, moment)[0][0] == pytest.approx(value[0], rel=1e-12 if d < 3 else 0.05)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_flips_are_those_of_the_samples(d):
    data, rng = cloud(40, d, 2), np.random.default_rng(0)
    signs = rng.choice([-1.0, 1.0], size=(3, 40))
    for moment in ("inputs", "targets"):
        values, rs = worst_half_spaces(data, moment, signs, steps=60)
        for sign, value, r in zip(signs, values, rs, strict=True):
            flipped = bf.Dataset(sign[:, None] * data.x, sign * data.y)
            # the power iteration of the inputs leaves less than this after 60 steps
            assert value == pytest.approx(half_space_defect(flipped, r, moment), rel=1e-3)
            if d < 3:
                assert value == pytest.approx(worst_half_spaces(flipped, moment)[0][0], rel=1e-12)


def test_exact_mirror_images():
    found = symmetry(SINE)
    assert found.exact
    assert (found.inputs, found.targets, found.defect, found.p_value) == (0, 0, 0, 1)
    assert (found.evenness, found.oddness) == (1, 0)
    assert symmetry_defect(SINE) == 0


def test_mirror_images_to_rounding():
    noise = 1 + 1e-15 * np.random.default_rng(0).normal(size=SINE.x.shape)
    found = symmetry(bf.Dataset(SINE.x * noise, SINE.y), flips=19)
    assert found.exact
    assert found.defect < 1e-14  # sums of 60 terms, each off by 1e-15
    assert found.p_value == 1


def test_evenness_and_oddness_are_separate_statements():
    even_inputs = symmetry(bf.Dataset(SINE.x, np.abs(SINE.y)), flips=1)
    assert even_inputs.evenness == 1
    assert even_inputs.oddness == 2  # |y| + |y| where |y| is largest
    part = symmetry(bf.Dataset(SINE.x[:45], SINE.y[:45]), flips=1)
    assert (part.evenness, part.oddness) == (30 / 45, 0)
    none = symmetry(bf.Dataset(SINE.x[:30], SINE.y[:30]), flips=1)
    assert none.evenness == 0
    assert np.isnan(none.oddness)
    assert not none.exact


@pytest.mark.parametrize(
    ("x", "y", "evenness", "oddness"),
    [
        # targets at equal x are matched in their order
        ([[1, 2], [1, 2], [-1, -2], [0, 0], [-1, -2], [3, 1]], [1, 2, -2, 0, -1, 5], 5 / 6, 0),
        ([[1, 2], [1, 2], [-1, -2]], [1, 1, -1], 2 / 3, 0),
        ([[0, 0]], [1], 1, 1),  # y(0) must be 0
        ([[1, 1], [-1, -1 - 1e-9]], [1, -1], 0, np.nan),
    ],
)
def test_mirrors_count_repeated_samples_and_the_origin(x, y, evenness, oddness):
    found = symmetry(bf.Dataset(x, y), flips=1)
    assert_equal((found.evenness, found.oddness), (evenness, oddness))


def test_defect_grows_and_p_falls_as_six_points_and_mirror_pairs_lose_their_symmetry():
    """The defect jumps to 1/3 as soon as δ > 0: then some line has (−1, 0) and (1, δ) on one side."""
    six = [symmetry(bf.data.six_points(delta)) for delta in (0, 1e-6, 0.15, 0.5, 2)]
    assert six[1].inputs == pytest.approx(1 / 3, rel=1e-5)
    assert (np.diff([s.inputs for s in six]) > 0).all()
    assert (np.diff([s.targets for s in six]) > 0).all()
    sine = bf.data.odd_sine(n=100, d=3, seed=0)
    broken = [symmetry(bf.data.desymmetrize(sine, a), flips=99, starts=4) for a in (0, 0.1, 0.4, 1)]
    assert (np.diff([s.inputs for s in broken]) > 0).all()
    assert (np.diff([s.p_value for s in broken]) <= 0).all()
    # pairs left together are more symmetric than independent samples: p is 1 until few are left
    assert [s.p_value for s in broken[:2]] == [1, 1]
    assert broken[-1].p_value < 1


@pytest.mark.parametrize("seed", range(3))
def test_asymmetric_data_are_rejected(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(300, 4))
    odd = x @ rng.normal(size=4)
    shifted = symmetry(bf.Dataset(x + 0.5, odd), flips=99, starts=4)
    assert shifted.p_inputs == shifted.p_value == 0.01  # the smallest that 99 flips can give
    even = symmetry(bf.Dataset(x, np.abs(odd)), flips=99, starts=4)
    assert even.p_targets == 0.01
    assert even.p_value == 0.01


def test_the_p_values_count_the_flips():
    found = symmetry(cloud(50, 3, 0), flips=39)
    for t, null, p in zip(
        found.searched,
        (found.null_inputs, found.null_targets),
        (found.p_inputs, found.p_targets),
        strict=True,
    ):
        assert len(null) == 39
        assert p == (1 + np.sum(null >= t)) / 40
    assert found.p_value >= min(found.p_inputs, found.p_targets)


def test_large_data_are_searched_on_a_subset_and_measured_whole():
    data = cloud(3000, 5, 0)
    found = symmetry(data, flips=9, subsample=500)
    assert found.samples == 500
    inputs, targets = moments(data, found.witness_inputs)[0], moments(data, found.witness_targets)[1]
    assert found.inputs == pytest.approx(inputs, rel=1e-12)  # positive and negative sums of 3 000 terms
    assert found.targets == pytest.approx(targets, rel=1e-10)
    assert found.searched != (found.inputs, found.targets)
    assert symmetry(bf.Dataset(data.x[:, :2], data.y), flips=1, subsample=500).samples == 3000


def test_degenerate_data():
    zero = bf.Dataset(np.zeros((3, 4)), [1.0, 2, 3])
    assert symmetry_defect(zero) == 0
    no_target = symmetry(bf.Dataset(cloud(20, 3, 0).x, np.zeros(20)), flips=9)
    assert (no_target.targets, no_target.p_targets) == (0, 1)
    assert no_target.p_value == no_target.p_inputs
    one = bf.Dataset([[1.0, 2, 3]], [1.0])
    assert symmetry_defect(one) == pytest.approx(1)


def test_wrong_calls():
    invalid("flips must be a whole number of at least 1", symmetry, SINE, flips=0)
    invalid("seed must be a whole number", symmetry, SINE, seed=-1)


@pytest.mark.slow
@pytest.mark.parametrize("d", [2, 4])
def test_a_symmetric_distribution_is_rejected_as_often_as_it_should_be(d):
    """500 seeds: rejections at 5 % lie in the 99 % interval of Binomial(500, 0.05)."""
    from scipy.stats import binom

    low, high = binom.ppf([0.005, 0.995], 500, 0.05)
    found = []
    for draw in range(500):
        rng = np.random.default_rng([d, draw])
        x = rng.standard_t(4, size=(24, d)) * rng.choice([0.3, 2.0], size=d)
        y = x[:, 0] ** 3 + rng.normal(size=24)
        found.append(symmetry(bf.Dataset(x, y), flips=39, starts=2, seed=draw))
    for p in ("p_inputs", "p_targets", "p_value"):
        assert low <= sum(getattr(s, p) <= 0.05 for s in found) <= high, p


@pytest.mark.parametrize("d", [1, 3])
def test_copies_of_all_samples_do_not_change_the_p_value(d):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(12, d)), rng.normal(size=12)
    once = symmetry(bf.Dataset(x, y), flips=39)
    for n in (2, 3):
        copied = symmetry(bf.Dataset(np.tile(x, (n, 1)), np.tile(y, n)), flips=39)
        assert (copied.p_value, copied.p_inputs, copied.p_targets) == (
            once.p_value,
            once.p_inputs,
            once.p_targets,
        )
        assert (copied.copies, copied.samples, copied.repeated) == (n, 12, 0)
        assert copied.defect == pytest.approx(once.defect)


def test_other_repeated_samples_are_said():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(30, 2)), rng.normal(size=30)
    some = bf.Dataset(np.r_[x, x[:10]], np.r_[y, y[:10]])
    assert (symmetry(some, flips=39).copies, symmetry(some, flips=39).repeated) == (1, 10)
    notes = " ".join(bf.diagnose(data=some, flips=39).notes)
    assert "10 of the 40 samples that the test of Condition 3 uses repeat another one" in notes
    twice = bf.diagnose(data=(np.r_[x, x], np.r_[y, y]), flips=39)
    assert "the data are 2 copies of one set: the test of Condition 3 uses one." in twice.notes
