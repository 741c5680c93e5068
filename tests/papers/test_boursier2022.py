"""Boursier et al. in small: two scales, few neurons, two samples; the teacher in three dimensions."""

import numpy as np
import pytest

import biasfree as bf
from biasfree_papers.boursier2022 import EXPERIMENT, limits, sentences_times


def test_numbers(numbers):
    assert numbers["pair_measured"].shape == numbers["pair_predicted"].shape == (2, 2, 2)
    assert numbers["many_scan_norm"].shape == (2, len(numbers["many_chosen"]))
    covered = numbers["many_covers"]
    assert (np.isfinite(numbers["many_predicted"]).all(axis=1) == covered).all()
    assert 0 < covered.sum() < len(covered)
    assert numbers["teacher_loss"].shape[0] == 2


def test_the_pair_is_learned_when_it_is_due(numbers):
    """|t − t±||D±| is below one, and the same at both scales but for outputs of their order, 1e-3."""
    apart = numbers["pair_measured"] - numbers["pair_predicted"]
    rates = np.linalg.norm(bf.theory.neighbors.alignment_directions(bf.data.orthogonal_pair()), axis=1)
    assert (np.abs(apart) * rates < 1).all()
    np.testing.assert_allclose(apart[0], apart[1], atol=0.02)
    assert (numbers["pair_falls"] == 2).all()


def test_covered_samples_end_at_the_shortest_interpolator(numbers):
    ratio = numbers["many_scan_norm"][0] / numbers["many_scan_minimum"][0] - 1
    covered = numbers["many_scan_covers"][0]
    # one sample a sign: what is left of the other neurons is of the order of γ²
    assert (np.abs(ratio[covered]) < 1e-6).all()
    np.testing.assert_allclose(
        numbers["many_scan_limit"][0][covered], numbers["many_scan_minimum"][0][covered]
    )


def test_draws_of_one_kind_only(numbers):
    """Claims about the other kind are left out, and the picture is drawn all the same."""
    kinds = {name: numbers[name] for name in ("many_covers", "many_scan_covers")}
    for value, fewer in ((True, 2), (False, 4)):
        one = {**numbers, **{name: np.full_like(kind, value) for name, kind in kinds.items()}}
        assert len(EXPERIMENT.claims(one)) == len(EXPERIMENT.claims(numbers)) - fewer
        EXPERIMENT.draw(one)
        assert len(EXPERIMENT.tables(one)) == 3


def test_picture(numbers):
    figure = EXPERIMENT.draw(numbers)
    inner = {*figure.axes[4:7], *figure.axes[8:11]}  # their vertical axis is that of the panel to the left
    assert all(axes.get_xlabel() and (axes.get_ylabel() or axes in inner) for axes in figure.axes)
    names = [tick.get_text() for tick in figure.axes[11].get_xticklabels()]
    assert (names[0], names[-1]) == ("→ 0", "all,\n$10^{-3}$")


def test_neurons_of_the_line_are_those_of_the_first_draw(numbers):
    assert numbers["line_inner"].shape == (4, 8, 2)
    assert numbers["line_outer"].shape == (4, 1, 8)
    assert (np.diff(numbers["line_snapshots"]) >= 0).all()
    end = sum(np.sum(numbers[f"line_{layer}"][-1] ** 2) for layer in ("inner", "outer")) / 2
    assert end == pytest.approx(numbers["line_norm"][0])


def test_growth_is_judged_by_the_part_that_should_not_grow(numbers):
    """Rounding hides less than a millionth of it at γ = 1e-8; a growth of a thousandth is seen."""
    assert (numbers["pair_rounding"] < 1e-6).all()
    spoilt = numbers["pair_spread"].copy()
    spoilt[0, 0, 0] = 1e-3
    claim = EXPERIMENT.claims({**numbers, "pair_spread": spoilt})[1]
    assert claim.held.count(False) == 1


def test_what_is_left_over_is_constant(numbers):
    """t|D±| − ln(1/γ) of made-up times: 2 at both γ, and then 2 at one and 2.2 at the other."""
    printed = numbers["pair_printed"][:, None]
    rates = -np.log(numbers["scales"])[:, None, None] / printed
    made = {**numbers, "pair_measured": printed + np.full((2, 2, 2), 2.0) / rates}
    left = sentences_times._left_over(made, "pair")
    assert left == pytest.approx(2.0)
    assert sentences_times._pair(made)[0].holds
    made["pair_measured"] = printed + np.full((2, 2, 2), [[[2.0]], [[2.2]]]) / rates
    claim = sentences_times._pair(made)[0]
    assert claim.measured == pytest.approx((0.1, 0.1))
    assert not claim.holds


def test_excess_over_the_least_norm_of_five_points(numbers):
    """A network of the least norm is not longer than it."""
    long = {**numbers, "line_norm": 1.05 * np.repeat(numbers["line_least"], 2)}
    short = {**numbers, "line_norm": np.repeat(numbers["line_least"], 2)}
    for made, holds in ((long, True), (short, False)):
        (claim,) = (c for c in EXPERIMENT.claims(made) if "least_path_norm" in c.source)
        assert claim.holds == holds


def test_samples_are_orthogonal_with_alternating_signs():
    data = limits.drawn(6, 3)
    assert (data.x == np.eye(6)).all()
    assert (np.sign(data.y) == [1, -1, 1, -1, 1, -1]).all()
    assert (np.abs(data.y) >= 0.5).all()
