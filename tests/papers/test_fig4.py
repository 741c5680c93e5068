"""Figs. 4 and 8 in small: the orthogonal pair, and XOR by theory."""

import numpy as np
import pytest
import xarray

from biasfree import data, networks, theory
from biasfree_papers.experiment import silent
from biasfree_papers.registry import REGISTRY
from biasfree_papers.shared.xor import compute, measures


@pytest.fixture(scope="module")
def solved_xor(experiment):
    """XOR at its own settings, its flow and descent replaced by the solution."""

    def descended(case, every, times):
        return case.solve(case.starts[0], case.step * every * np.arange(times))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compute._Case, "flow", lambda case, start, ts, _: case.solve(start, ts))
        patch.setattr(compute._Case, "descend", descended)
        return experiment.compute(experiment.settle({"sets": (4,), "seeds": 2}), silent)


def test_numbers(numbers):
    assert numbers.outputs.sizes == {"kind": 4, "set": 1, "seed": 2, "time": 161, "point": 2}
    np.testing.assert_allclose(numbers.outputs.sel(kind="flow").isel(time=-1), 1, atol=1e-3)
    np.testing.assert_allclose(numbers.rate.sel(set=2), np.sqrt([1.25, 5]) / 2)


def test_learning_times_are_those_of_the_closed_form(numbers):
    """On straight lines in ln z between times Δ apart the error is Δ²·max|(ln z)''|/8 over the slope."""
    for seed in numbers.seed.values:
        start = networks.gaussian((2, 12, 1), scale=1e-4, seed=int(seed))
        expected = theory.learning_times(start, data.orthogonal_pair())
        # z = sigmoid: |(ln z)''| = 4s²z(1 − z) ≤ s², slope of ln z at ½ is s, and s ≤ 1.12
        room = np.diff(numbers.t[0])[0] ** 2 * 1.12 / 8
        found = numbers.learned.sel(kind="theory", set=2, seed=seed)
        np.testing.assert_allclose(found, expected, rtol=0, atol=room)


def test_seeds_that_learn_nothing_are_refused(experiment):
    with pytest.raises(
        ValueError, match=r"1 of 3 seeds give no neuron that learns any of the 2 points; raise"
    ):
        experiment.compute(experiment.settle({"sets": (2,), "width": 1, "seeds": 3}), silent)


def test_falls_are_counted():
    ts = np.linspace(0, 40, 401)
    steps = [1 / (1 + np.exp(2 * (ts - t))) for t in (8, 20, 32)]
    assert [measures.count_falls(ts, sum(steps[:n]) + 0 * ts) for n in (1, 2, 3)] == [1, 2, 3]
    assert measures.count_falls(ts, np.ones(401)) == 0
    assert measures.count_falls(ts, steps[1] + 1 / (1 + np.exp(2 * (ts - 20.5)))) == 1  # too near to be two


def test_xor_falls_in_four_steps(experiment, solved_xor):
    assert (solved_xor.steps_of_loss == 4).all()
    claims = experiment.claims(solved_xor)
    assert all(claim.holds for claim in claims)
    assert [claim.kind for claim in claims] == ["ours"] * 3 + ["paper"] * 4
    theory = solved_xor.sel(set=4, kind="theory").isel(seed=0)
    assert np.argsort(-theory.rate.values).tolist() == np.argsort(theory.learned.values).tolist()


def test_without_gated_runs_the_unsorted_initialization_stands_for_them(experiment, solved_xor):
    """As with the logistic loss, for which no gated flow is solved."""
    without = solved_xor.drop_vars([name for name in solved_xor if str(name).startswith("gated")])
    claim = experiment.claims(without)[2]
    assert "sees first" in claim.sentence
    assert claim.holds


@pytest.mark.parametrize(("name", "claim"), [("gated_later", 2), ("gated_loss", 3)])
def test_gated_claims_fail_where_the_numbers_are_wrong(experiment, solved_xor, name, claim):
    assert experiment.claims(solved_xor)[claim].holds
    assert not experiment.claims(solved_xor.assign({name: solved_xor[name] + 0.2}))[claim].holds


def test_two_sets_of_other_sizes_stand_side_by_side(experiment, solved_xor):
    """Points that the first set does not have are left out of claims and pictures."""
    pair = solved_xor.isel(point=slice(2)).drop_vars("set").assign_coords(set=[2])
    both = xarray.concat([pair, solved_xor], "set", join="outer", data_vars="minimal")
    figure = experiment.draw(both)
    letters = [axes.get_title(loc="left") for axes in figure.axes if axes.get_title(loc="left")]
    assert (len(figure.axes), letters) == (12, [f"({letter})" for letter in "abcdef"])
    lines, markers = figure.axes[1].lines[:2]
    assert (lines.get_marker(), markers.get_linestyle()) == ("None", "None")


@pytest.mark.parametrize("experiment", ["fig8"], indirect=True)
def test_numbers_of_fig8(numbers):
    assert numbers.objective == "logistic"
    np.testing.assert_allclose(numbers.rate.sel(set=2), np.sqrt([1.25, 5]) / 4)


@pytest.mark.parametrize("experiment", ["fig8"], indirect=True)
def test_outputs_grow_like_the_logarithm_of_time(numbers):
    """ż = 4κz/(1 + e^z) between saved times: ln z + Ei(z) grows by 4κΔt."""
    from scipy.special import expi

    late = numbers.sel(set=2, kind="flow").isel(seed=0, time=slice(-20, None))
    clock = np.log(late.outputs) + expi(late.outputs)
    # outputs are good to 1e-6, and the clock moves e^z/z ≤ 1e4 times as fast
    np.testing.assert_allclose(clock.diff("time"), 4 * late.t.diff("time") * late.rate, atol=1e-2)


@pytest.mark.parametrize("experiment", ["fig8"], indirect=True)
def test_it_is_fig_8_with_its_printed_step(experiment, numbers):
    assert all("Fig. 8" in claim.source for claim in experiment.claims(numbers))
    assert [one.settle()["step"] for one in (experiment, REGISTRY["fig4"])] == [0.004, 0.001]
