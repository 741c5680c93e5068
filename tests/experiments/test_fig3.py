"""Fig. 3 in small: the same run, claims and picture, with few neurons, samples and leaks."""

from dataclasses import replace

import numpy as np
import pytest

from biasfree.experiments import fig3
from biasfree.experiments.experiment import silent
from biasfree.experiments.fig3 import numbers as runs

SMALL = {
    "width": 60,
    "dimensions": 3,
    "samples": 40,
    "scale": 1e-3,
    "leaks": (0, 0.5, 1),
    "end": 60,
    "times": 41,
    "seeds": 2,
}


@pytest.fixture(scope="module")
def numbers():
    return fig3.EXPERIMENT.run(fig3.EXPERIMENT.settle(SMALL), silent)


def test_numbers(numbers):
    assert numbers["simulated"].shape == numbers["reduced"].shape == (3, 41)
    assert all(isinstance(value, np.ndarray) and np.isfinite(value).all() for value in numbers.values())
    assert (numbers["weight_error"][-1] == 0).all()  # the linear run is its own twin
    np.testing.assert_allclose(numbers["simulated"][:, -1], numbers["least_squares"], rtol=1e-4)


def test_our_claims_hold_and_the_papers_decide_nothing(numbers):
    claims = fig3.EXPERIMENT.claims(numbers)
    assert [claim.kind for claim in claims] == ["ours"] * 3 + ["paper"] * 3
    assert all(claim.holds for claim in claims if claim.kind == "ours")
    assert all(claim.origin and claim.source for claim in claims)


@pytest.mark.parametrize(
    ("spoilt", "falls"),
    [("simulated", (0, 1)), ("reduced", (1,)), ("final_measured", (2,)), ("final_predicted", (2,))],
)
def test_claims_fail_where_the_numbers_are_wrong(numbers, spoilt, falls):
    """A change of five per cent is seen by the claims that read it."""
    changed = {**numbers, spoilt: numbers[spoilt].copy()}
    changed[spoilt][0] *= 1.05
    ours = fig3.EXPERIMENT.claims(changed)[:3]
    assert all(not ours[i].holds for i in falls)
    assert all(ours[i].holds for i in range(3) if i not in falls)


def test_picture(numbers):
    figure = fig3.EXPERIMENT.draw(numbers)
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["(a)", "(b)", "(c)", "(d)"]
    assert all(axes.get_xlabel() and axes.get_ylabel() for axes in figure.axes)
    lines, markers = figure.axes[0].lines[0], figure.axes[0].lines[2]
    assert (lines.get_marker(), markers.get_linestyle()) == ("None", "None")


def test_a_run_without_an_error_estimate_proves_nothing():
    from biasfree.trajectory import Stats, Trajectory

    run = Trajectory([0.0], (np.ones((1, 2, 2)), np.ones((1, 1, 2))), [0.0], [0.0], 0.0, Stats(method="none"))
    assert runs._accuracy(run) == np.inf
    assert runs._accuracy(replace(run, stats=Stats(method="some", error=0.5))) == 0.5
