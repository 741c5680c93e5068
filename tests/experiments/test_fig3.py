"""Fig. 3 in small: the same run, claims and picture, with few neurons, samples, leaks and draws."""

from dataclasses import replace

import numpy as np
import pytest

from biasfree.experiments import fig3
from biasfree.experiments.experiment import silent
from biasfree.experiments.fig3 import finals
from biasfree.files import load_npz, save_npz
from biasfree.theory import final_weight_error_law
from biasfree.trajectory import Stats, Trajectory

SMALL = {
    "width": 60,
    "dimensions": 3,
    "samples": 40,
    "scale": 1e-3,
    "leaks": (0, 0.5, 1),
    "end": 60,
    "times": 41,
    "seeds": 2,
    "draws": 60,
    "widths": (10, 40),
    "small_draws": 16,
    "small_widths": (20,),
    "logistic_leaks": (0, 1),
    "logistic_end": 40,
    "real_steps": 20,
}
OURS = 11


@pytest.fixture(scope="module")
def numbers():
    return fig3.EXPERIMENT.run(fig3.EXPERIMENT.settle(SMALL), silent)


def test_numbers(numbers):
    assert numbers["simulated"].shape == numbers["reduced"].shape == (3, 41)
    assert all(isinstance(value, np.ndarray) and np.isfinite(value).all() for value in numbers.values())
    assert (numbers["weight_error"][-1] == 0).all()  # the linear run is its own twin
    np.testing.assert_allclose(numbers["simulated"][:, -1], numbers["least_squares"], rtol=1e-4)
    np.testing.assert_allclose(numbers["logistic_simulated"][:, 0], np.log(2), rtol=1e-4)
    assert numbers["small_measured"].shape == (1, 16)


def test_our_claims_hold_and_the_papers_decide_nothing(numbers):
    claims = fig3.EXPERIMENT.claims(numbers)
    assert [claim.kind for claim in claims] == ["ours"] * OURS + ["paper"] * 3
    assert all(claim.holds for claim in claims[:OURS]), [claim.verdict for claim in claims]
    assert all(claim.origin and claim.source for claim in claims)
    (table,) = fig3.EXPERIMENT.tables(numbers)
    assert [row[0] for row in table.rows] == [0, 0.5, 1]


@pytest.mark.parametrize(
    ("spoilt", "factor", "falls"),
    [
        ("simulated", 1.05, {0, 1}),
        ("reduced", 1.05, {1}),
        ("final_measured", 1.05, {2}),
        ("final_predicted", 1.05, {2}),
        ("small_predicted", 1.05, {3}),
        ("many_distance", 20, {4}),
        ("small_distance", 20, {5}),
        ("medians", 20, {6}),
        ("logistic_simulated", 1.05, {7, 8}),
        ("logistic_reduced", 1.05, {8}),
        ("real_error", 1e9, {9}),
        ("descent_loss", 1.05, {10}),
    ],
)
def test_claims_fail_where_the_numbers_are_wrong(numbers, spoilt, factor, falls):
    """What is a few per cent off, or a sample far from its law, is seen by the claims that read it."""
    changed = {**numbers, spoilt: numbers[spoilt].copy()}
    changed[spoilt][_part(spoilt, changed[spoilt])] *= factor
    found = {i for i, claim in enumerate(fig3.EXPERIMENT.claims(changed)[:OURS]) if not claim.holds}
    assert found == falls


def _part(name, values):
    """The first entry, or the last of what begins at zero; all of a single number."""
    return (-1 if name == "real_error" else 0) if values.ndim else ...


def test_picture(numbers, tmp_path):
    save_npz(tmp_path / "numbers.npz", numbers)
    figure = fig3.EXPERIMENT.draw(load_npz(tmp_path / "numbers.npz", needs=()))
    assert [axes.get_title(loc="left") for axes in figure.axes] == [f"({letter})" for letter in "abcdefghi"]
    assert all(axes.get_xlabel() and axes.get_ylabel() for axes in figure.axes)
    lines, markers = figure.axes[0].lines[0], figure.axes[0].lines[2]
    assert (lines.get_marker(), markers.get_linestyle()) == ("None", "None")


def test_the_distance_of_a_sample_from_its_law():
    """Kolmogorov and Smirnov: quantiles at the middles of n equal shares are 1/(2n) away."""
    law = final_weight_error_law(30)
    errors = np.array([law.quantile(share) for share in (0.125, 0.375, 0.625, 0.875)])
    np.testing.assert_allclose(finals.distance(errors, law), 0.125, atol=1e-8)


def test_a_run_without_an_error_estimate_proves_nothing():
    zero, weights = np.zeros(1), (np.ones((1, 2, 2)), np.ones((1, 1, 2)))
    run = Trajectory(zero, weights, zero, zero, 0.0, Stats(method="none"))
    assert finals.accuracy(run) == np.inf
    assert finals.accuracy(replace(run, stats=Stats(method="some", error=0.5))) == 0.5
