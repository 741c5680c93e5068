"""The bias experiment in small: few neurons and steps; the data are those of the experiment."""

import numpy as np
import pytest

import biasfree as bf
import oracles
from biasfree.files import load_npz, save_npz
from biasfree.trajectory import Stats
from biasfree_papers import bias
from biasfree_papers.bias import numbers as runs
from biasfree_papers.bias import square
from biasfree_papers.experiment import silent

SMALL = {"width": 10, "scale": 0.1, "epochs": 500, "times": 50, "seeds": 2}
SMALL |= {"six_width": 12, "six_scale": 0.5, "six_step": 0.1, "six_epochs": 1200}
OURS = 7


def descended(starts, given, settings):
    """Plain NumPy in the place of the simulator, which would compile another shape."""
    return [
        _run(start, data, settings["six_step"], settings["six_epochs"] // 40)
        for start, data in zip(starts, given, strict=True)
    ]


def _run(network, data, step, every):
    path = [network]
    for _ in range(40):
        weights, _ = oracles.descended(path[-1], data, step=step, steps=every)
        path.append(bf.Network(tuple(weights), leak=network.leak))
    loss = np.array([oracles.loss(one, data) for one in path])
    weights = tuple(np.array(layer) for layer in zip(*(one.weights for one in path), strict=True))
    ts, stats = step * every * np.arange(41), Stats("descent")
    return bf.Trajectory(ts, weights, loss, loss, leak=network.leak, stats=stats)


@pytest.fixture(scope="module")
def numbers():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(square, "_descended", descended)
        return bias.EXPERIMENT.run(bias.EXPERIMENT.settle(SMALL), silent)


def test_numbers(numbers):
    for name, value in numbers.items():
        assert isinstance(value, np.ndarray)
        assert np.isfinite(value).all() or name.endswith("_steps")  # a direction may never flip a sample
    assert numbers["margin"] == pytest.approx(np.linalg.norm(runs.POSITIVES[0]), rel=1e-12)
    assert (numbers["bias_step"] > 0).all()
    assert (numbers["biased_ratios"][:, -1] > 0).all()
    assert not numbers["plain_ratios"].any()


@pytest.mark.parametrize("kind", ["origin", "stacked", "free"])
def test_classifiers_fit_and_are_shortest_among_their_kind(numbers, kind):
    """y(w·x + b) ≥ 1 everywhere, with equality somewhere; more freedom makes w, or (w, b), no longer."""
    w, b = numbers[f"shifted_{kind}"][:2], numbers[f"shifted_{kind}"][2]
    assert (numbers["y"] * (numbers["shifted_x"] @ w + b)).min() == pytest.approx(1, rel=1e-10)
    assert np.linalg.norm(w) >= np.linalg.norm(numbers["shifted_free"][:2]) * (1 - 1e-10)
    if kind != "stacked":
        assert np.hypot(np.linalg.norm(w), b) >= np.linalg.norm(numbers["shifted_stacked"]) * (1 - 1e-10)


def test_the_closed_form_has_both_limits():
    """κ → ∞ frees the offset, so that w keeps its direction c; κ → 0 is continuous."""
    c, s = np.array([1.0, 1.2]), np.array([0.3, 1.4])
    np.testing.assert_allclose(runs.closed_form(c, s, 1e6), c / (c @ c), rtol=1e-10)
    np.testing.assert_allclose(runs.closed_form(c, s, 1e-6), runs.closed_form(c, s, 0.0), rtol=1e-10)


def test_our_claims_hold_and_the_papers_decide_nothing(numbers):
    claims = bias.EXPERIMENT.claims(numbers)
    assert [claim.kind for claim in claims] == ["ours"] * OURS + [
        *("paper", "observed", "paper"),
        *("paper", "observed", "paper", "paper"),
    ]
    assert all(claim.holds for claim in claims[:OURS])


@pytest.mark.parametrize(
    ("spoilt", "factor", "falls"),
    [
        ("symmetric_stacked", 1 + 1e-6, 0),
        ("sweep", 1.01, 1),
        ("bias_step", 1 + 1e-6, 2),
        ("least_product", -1.0, 3),
        ("plain_margins", 3.0, 4),
        ("biased_margins", 3.0, 5),
        ("six_x", 1e-3, 6),
    ],
)
def test_claims_fail_where_the_numbers_are_wrong(numbers, spoilt, factor, falls):
    ours = bias.EXPERIMENT.claims({**numbers, spoilt: numbers[spoilt] * factor})[:OURS]
    assert [claim.holds for claim in ours] == [i != falls for i in range(OURS)]


def test_tables(numbers):
    assert [len(table.rows) for table in bias.EXPERIMENT.tables(numbers)] == [6, 2, 4, 2]


def test_picture(numbers, tmp_path):
    save_npz(tmp_path / "numbers.npz", numbers)
    figure = bias.EXPERIMENT.draw(load_npz(tmp_path / "numbers.npz", needs=()))
    assert [axes.get_title(loc="left") for axes in figure.axes] == [f"({letter})" for letter in "abcdefghi"]
    assert all(axes.get_xlabel() and axes.get_ylabel() for axes in figure.axes)


def test_the_largest_distances_by_hand():
    """A right angle of unit vectors is halved at sin 45°; a short sample is no further than its length."""
    y = np.array([1.0, -1.0])
    assert square.largest_distance(np.eye(2), y, biased=False) == pytest.approx(np.sqrt(0.5))
    assert square.largest_distance(np.eye(2), y, biased=True) == pytest.approx(np.sqrt(0.5))
    assert square.largest_distance(np.array([[1.0, 0], [-3, 0.1]]), y, biased=False) == 1
    assert square.largest_distance(np.array([[1.0, 0], [-1, 0]]), y, biased=False) == 1


def test_the_rest_of_the_line_has_no_force_on_a_bias(numbers):
    """Orthogonal to 1 and to x on either half-line; least squares of all is y = x."""
    for side in (square.LINE > 0, square.LINE < 0):
        both = np.column_stack([np.ones(3), square.LINE[side]])
        np.testing.assert_allclose(square.REST[side] @ both, 0, atol=1e-16)
    assert numbers["line_loss"] == pytest.approx(np.mean(square.REST**2) / 2)
    assert (numbers["line_usual_kinks"] < 1).all()


def test_draws_that_have_not_learned_are_not_judged(numbers):
    half = {**numbers, "six_plain_loss": np.array([1e-6, 1.0])}
    (claim,) = [one for one in bias.EXPERIMENT.claims(half) if "ends close" in one.sentence]
    assert len(claim.measured) == 1
    assert claim.note.startswith("1 of 2 draws have not learned")
    none = bias.EXPERIMENT.claims({**numbers, "six_plain_loss": np.ones(2)})
    assert not next(one for one in none if "ends close" in one.sentence).holds


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"shift": 2.0}, r"at most 1\.5"),
        ({"width": 11}, "width must be even, since neurons come in opposite"),
    ],
)
def test_refusals(changes, message):
    with pytest.raises(ValueError, match=message):
        bias.EXPERIMENT.settle(changes)
