"""High-dimensional samples, in small."""

import numpy as np
import pytest

from biasfree.files import load_npz, save_npz
from biasfree_papers import lai2026
from biasfree_papers.experiment import silent

SMALL = {
    "samples": (8,),
    "ratios": (2, 20),
    "asymptotic": 2,
    "width": 12,
    "kick": 0.05,
    "end": 30,
    "steps": 600,
    "seeds": 2,
}
OURS = 4


@pytest.fixture(scope="module")
def numbers():
    return lai2026.EXPERIMENT.run(lai2026.EXPERIMENT.settle(SMALL), silent)


def test_numbers(numbers):
    shape = (2, 1, 2, 2)  # kinds, numbers of samples, ratios, seeds
    names = ("two_linear", "wide_linear", "two_relu", "relu_linear", "two_loss", "wide_rank", "rounding")
    assert all(numbers[name].shape == shape for name in names)
    assert all(np.isfinite(value).all() for value in numbers.values())
    assert (numbers["wide_linear"][:, :, 1] < numbers["wide_linear"][:, :, 0]).all()  # nearer to orthogonal
    assert (numbers["wide_rank"] >= 1).all()
    np.testing.assert_allclose(numbers["control_every"], numbers["kicks"], atol=2e-6)


def test_our_claims_hold_and_the_papers_decide_nothing(numbers):
    claims = lai2026.EXPERIMENT.claims(numbers)
    assert [claim.kind for claim in claims] == ["ours"] * OURS + ["paper"] * 2 + ["observed"] * 6
    assert all(claim.holds for claim in claims[:OURS]), [claim.verdict for claim in claims]
    assert all(claim.origin and claim.source for claim in claims)
    table, exponents = lai2026.EXPERIMENT.tables(numbers)
    assert exponents.columns[2:] == ("from d/n = 2 on", "d/n = 2 … 50", "all d/n")
    assert len(exponents.rows) == 6
    assert [row[:2] for row in table.rows] == [("labels", 2), ("labels", 20), ("noise", 2), ("noise", 20)]


@pytest.mark.parametrize(
    ("spoilt", "factor", "falls"),
    [
        ("two_defect", 1e9, 0),
        ("wide_defect", 1e9, 0),
        ("two_linear", 3.0, 1),
        ("wide_linear", 0.1, 1),
        ("wide_high", 0.1, 1),
        ("control_own", 1.05, 2),
        ("control_every", 1.05, 3),
    ],
)
def test_our_claims_fail_where_the_numbers_are_wrong(numbers, spoilt, factor, falls):
    claims = lai2026.EXPERIMENT.claims({**numbers, spoilt: factor * numbers[spoilt] + 1e-12})[:OURS]
    assert [claim.holds for claim in claims] == [i != falls for i in range(OURS)]


def test_the_law_is_reported_with_its_error(numbers):
    """Draws of exponents 0.48 and 0.52, 0.50 ± 0.02, agree with the law; their squares do not."""
    draws = (1 / numbers["ratios"])[:, None] ** np.array([0.48, 0.52])
    made = np.broadcast_to(draws, numbers["two_linear"].shape)
    laws = lai2026.EXPERIMENT.claims({**numbers, "two_linear": made, "wide_linear": made**2})[OURS:][:4]
    assert [(claim.kind, claim.holds) for claim in laws] == [
        ("paper", True), ("paper", False), ("observed", True), ("observed", False),
    ]  # fmt: skip
    assert laws[2].sentence.count("labels 0.50 ± 0.02") == 3  # there, over the range given, and over all


def test_other_starts_and_steps_are_in_the_note(numbers):
    """Large steps keep what they do to samples that are then silent; small ones end where ours do."""
    small, large, ours = np.median(numbers["along_distance"], axis=1)
    assert large > 2 * max(small, ours)
    assert f"{large:.2g} in steps of the inverse curvature" in lai2026.EXPERIMENT.claims(numbers)[OURS].note


def test_an_interpolator_that_is_not_found_is_seen(numbers):
    spoilt = {**numbers, "relu_error": 1e6 * numbers["relu_error"] + 1e-5}
    assert lai2026.EXPERIMENT.claims(numbers)[-1].holds
    assert not lai2026.EXPERIMENT.claims(spoilt)[-1].holds


def test_picture_from_a_file(numbers, tmp_path):
    save_npz(tmp_path / "numbers.npz", numbers)
    figure = lai2026.EXPERIMENT.draw(load_npz(tmp_path / "numbers.npz", needs=tuple(numbers)))
    assert [axes.get_title(loc="left") for axes in figure.axes] == [f"({letter})" for letter in "abcdef"]
    assert all(axes.get_xlabel() and axes.get_ylabel() for axes in figure.axes)


def test_a_large_start_is_refused():
    with pytest.raises(ValueError, match=r"at most 0\.05"):
        lai2026.EXPERIMENT.settle({"scale": 0.1})
