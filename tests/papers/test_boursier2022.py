"""Boursier et al. in small: two scales, few neurons, two samples; the teacher in three dimensions."""

import numpy as np
import pytest

import biasfree as bf
from biasfree.files import load_npz, save_npz
from biasfree_papers import boursier2022
from biasfree_papers.boursier2022 import beyond, limits, pair, sentences_times
from biasfree_papers.experiment import silent

SMALL = {
    "width": 8,
    "scales": (1e-8, 1e-3),
    "scale": 1e-3,
    "samples": 2,  # the shape of the pair
    "draws": 12,
    "lines": 2,
    "dimensions": 3,
    "teacher_samples": 2,
    "teacher_width": 5,
    "teacher_end": 5.0,
    "teachers": 2,
    "rtol": 1e-6,
    "seeds": 2,
}
OURS = 4


@pytest.fixture(scope="module")
def numbers():
    """With kinks stepped over where they are located, and two points of the five: what compiles is slow."""
    five = bf.data.five_points()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pair, "METHOD", "smooth")
        patch.setattr(beyond, "LINE_METHOD", {"method": "smooth", "rtol": 1e-2})
        patch.setattr(bf.data, "five_points", lambda: bf.Dataset(five.x[:2], five.y[:2]))
        return boursier2022.EXPERIMENT.run(boursier2022.EXPERIMENT.settle(SMALL), silent)


def test_numbers(numbers):
    assert numbers["pair_measured"].shape == numbers["pair_predicted"].shape == (2, 2, 2)
    assert numbers["many_scan_norm"].shape == (2, len(numbers["many_chosen"]))
    told = [v for name, v in numbers.items() if name.split("_")[-1] not in ("predicted", "kinks", "measured")]
    assert all(np.isfinite(value).all() for value in told)
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


def test_our_claims_hold(numbers):
    claims = boursier2022.EXPERIMENT.claims(numbers)
    assert [claim.kind for claim in claims[:OURS]] == ["ours"] * OURS
    assert all(claim.holds for claim in claims[:OURS]), [claim.verdict for claim in claims]
    assert all(claim.kind != "ours" for claim in claims[OURS:])
    assert all(claim.origin and claim.source for claim in claims)
    assert [len(table.rows) for table in boursier2022.EXPERIMENT.tables(numbers)] == [2, 2, 4]


@pytest.mark.parametrize(
    ("spoilt", "change", "falls"),
    [
        ("pair_drift", 0.01, {0}),
        ("pair_spread", 0.01, {1}),
        ("many_gained", 1, {2}),
        ("pair_least", 0.01, {3}),
        ("many_least", 3.0, {3}),
    ],
)
def test_claims_fail_where_the_numbers_are_wrong(numbers, spoilt, change, falls):
    claims = boursier2022.EXPERIMENT.claims({**numbers, spoilt: numbers[spoilt] + change})
    assert falls == {i for i, claim in enumerate(claims[:OURS]) if not claim.holds}


def test_draws_of_one_kind_only(numbers):
    """Claims about the other kind are left out, and the picture is drawn all the same."""
    kinds = {name: numbers[name] for name in ("many_covers", "many_scan_covers")}
    for value, fewer in ((True, 2), (False, 4)):
        one = {**numbers, **{name: np.full_like(kind, value) for name, kind in kinds.items()}}
        assert (
            len(boursier2022.EXPERIMENT.claims(one)) == len(boursier2022.EXPERIMENT.claims(numbers)) - fewer
        )
        boursier2022.EXPERIMENT.draw(one)
        assert len(boursier2022.EXPERIMENT.tables(one)) == 3


def test_picture(numbers, tmp_path):
    save_npz(tmp_path / "numbers.npz", numbers)
    figure = boursier2022.EXPERIMENT.draw(load_npz(tmp_path / "numbers.npz", needs=()))
    letters = [axes.get_title(loc="left") for axes in figure.axes]
    assert [letter for letter in letters if letter] == ["(a)", "(b)", "(c)", "(f)", "(g)", "(h)"]
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
    claim = boursier2022.EXPERIMENT.claims({**numbers, "pair_spread": spoilt})[1]
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
        (claim,) = (c for c in boursier2022.EXPERIMENT.claims(made) if "least_path_norm" in c.source)
        assert claim.holds == holds


def test_samples_are_orthogonal_with_alternating_signs():
    data = limits.drawn(6, 3)
    assert (data.x == np.eye(6)).all()
    assert (np.sign(data.y) == [1, -1, 1, -1, 1, -1]).all()
    assert (np.abs(data.y) >= 0.5).all()
