"""Fig. 4 in small: the orthogonal pair simulated, XOR with theory in the simulator's place."""

import numpy as np
import pytest

from biasfree import theory
from biasfree_papers.experiment import silent
from biasfree_papers.fig4 import EXPERIMENT
from biasfree_papers.shared.xor import courses
from biasfree_papers.shared.xor import numbers as points


@pytest.fixture(scope="module")
def solved_xor():
    """XOR at its own settings, its flow and descent replaced by the solution."""

    def descended(case, every, saves):
        return case._solve(case.starts[0], case.step * every * np.arange(saves + 1))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(points._Case, "_flow", lambda case, start, ts, _: case._solve(start, ts))
        patch.setattr(points._Case, "_descend", descended)
        return EXPERIMENT.run(EXPERIMENT.settle({"sets": (4,), "seeds": 2}), silent)


def test_numbers(numbers):
    assert numbers["simulated_outputs_2"].shape == numbers["solved_outputs_2"].shape == (2, 161, 2)
    np.testing.assert_allclose(numbers["simulated_outputs_2"][:, -1], 1, atol=1e-3)
    np.testing.assert_allclose(numbers["rates_2"], np.sqrt([1.25, 5]) / 2)


def test_learning_times_are_those_of_the_closed_form(numbers):
    """On straight lines in ln z between times Δ apart the error is Δ²·max|(ln z)''|/8 over the slope."""
    from biasfree import data, networks

    for i, seed in enumerate(numbers["seeds"]):
        start = networks.gaussian((2, 12, 1), scale=1e-4, seed=int(seed))
        expected = theory.learning_times(start, data.orthogonal_pair())
        # z = sigmoid: |(ln z)''| = 4s²z(1 − z) ≤ s², slope of ln z at ½ is s, and s ≤ 1.12
        room = np.diff(numbers["ts_2"])[0] ** 2 * 1.12 / 8
        np.testing.assert_allclose(numbers["solved_times_2"][i], expected, rtol=0, atol=room)


def test_descent_is_as_late_as_its_step_explains(numbers):
    claims = EXPERIMENT.claims(numbers)
    assert claims[-1].holds
    assert {claim.source.split("[")[0] for claim in claims[:4]} == {"derived here; for "}


def test_a_coarse_grid_leaves_room_for_the_learning_times_read_off_it(numbers):
    """Every eighth time only, and outputs off by all that they may be."""
    coarse = {name: value[:, ::8] if "outputs" in name else value for name, value in numbers.items()}
    coarse["ts_2"] = numbers["ts_2"][::8]
    off = (numbers["accuracy_2"] + numbers["neglected_2"])[:, None, None]
    for sign in (-0.99, 0.99):
        for name, moved in (("simulated", sign * off), ("solved", 0.0)):
            outputs = coarse["solved_outputs_2"] + moved
            times = [[courses.reached(coarse["ts_2"], z) for z in one.T] for one in outputs]
            coarse[f"{name}_times_2"] = np.array(times)
        claim = EXPERIMENT.claims(coarse)[1]
        assert claim.holds
        assert max(np.divide(claim.measured, claim.bound)) > 0.9


def test_a_point_that_no_neuron_learns_is_never_learned(numbers):
    """Infinity on both sides is agreement, on one side it is not."""
    never = {**numbers}
    for name in ("simulated_times_2", "solved_times_2", "descent_times_2"):
        never[name] = np.full_like(numbers[name], np.inf)
    assert all(claim.holds for claim in EXPERIMENT.claims(never)[:4])
    never["solved_times_2"] = numbers["solved_times_2"]
    assert not EXPERIMENT.claims(never)[1].holds


def test_seeds_that_learn_nothing_are_refused():
    with pytest.raises(
        ValueError, match=r"1 of 3 seeds give no neuron that learns any of the 2 points; raise"
    ):
        EXPERIMENT.run(EXPERIMENT.settle({"sets": (2,), "width": 1, "seeds": 3}), silent)


def test_falls_are_counted():
    ts = np.linspace(0, 40, 401)
    steps = [1 / (1 + np.exp(2 * (ts - t))) for t in (8, 20, 32)]
    assert [courses.count_falls(ts, sum(steps[:n]) + 0 * ts) for n in (1, 2, 3)] == [1, 2, 3]
    assert courses.count_falls(ts, np.ones(401)) == 0
    assert courses.count_falls(ts, steps[1] + 1 / (1 + np.exp(2 * (ts - 20.5)))) == 1  # too near to be two


def test_xor_falls_in_four_steps(solved_xor):
    assert (solved_xor["falls_4"] == 4).all()
    claims = EXPERIMENT.claims(solved_xor)
    # a solution has no error of its own to bound what is conserved
    assert [i for i, claim in enumerate(claims) if not claim.holds] == [3]
    assert [claim.kind for claim in claims] == ["ours"] * 5 + ["paper"] * 4 + ["observed"]
    assert len(EXPERIMENT.tables(solved_xor)[0].rows) == 8
    assert np.argsort(-solved_xor["rates_4"]).tolist() == np.argsort(solved_xor["solved_times_4"][0]).tolist()


def test_without_gated_runs_the_unsorted_start_stands_for_them(solved_xor):
    """As with the logistic loss, for which no gated flow is solved."""
    without = {name: value for name, value in solved_xor.items() if not name.startswith("gated")}
    claim = EXPERIMENT.claims(without)[4]
    assert "sees first" in claim.sentence
    assert claim.holds


@pytest.mark.parametrize(("name", "claim"), [("gated_later_4", 4), ("gated_loss_4", 5)])
def test_gated_claims_fail_where_the_numbers_are_wrong(solved_xor, name, claim):
    assert EXPERIMENT.claims(solved_xor)[claim].holds
    assert not EXPERIMENT.claims({**solved_xor, name: solved_xor[name] + 0.2})[claim].holds


def test_picture_of_both_sets(numbers, solved_xor):
    figure = EXPERIMENT.draw({**numbers, **solved_xor, "sets": np.array([2, 4])})
    assert len(figure.axes) == 12
    left = [axes for axes in figure.axes if axes.get_title(loc="left")]
    assert [axes.get_title(loc="left") for axes in left] == ["(a)", "(b)", "(d)", "(e)"]
    assert [part.get_suptitle() for part in figure.subfigs] == ["orthogonal points", "XOR"]
    labeled = [axes for axes in figure.axes if axes.get_ylabel()]
    assert len(labeled) == 8
    assert (labeled[0].lines[0].get_marker(), labeled[0].lines[-5].get_linestyle()) == ("None", "None")


def test_settings_are_checked():
    with pytest.raises(ValueError, match=r"must be 2 \(orthogonal points\), 4 \(XOR\) or both"):
        EXPERIMENT.settle({"sets": (3,)})
    with pytest.raises(ValueError, match="times must be a whole number of at least 101, got 3"):
        EXPERIMENT.settle({"times": 3})
    assert EXPERIMENT.settings["step"].default == 0.001
