"""Fig. 5 in small: three layers of few neurons, with the same run, claims and picture."""

import numpy as np
import pytest
import xarray

import biasfree as bf
from biasfree_papers.experiment import Claim
from biasfree_papers.fig5.claims import explained, path_gap
from biasfree_papers.fig5.compute import SMALL, Settings, fallen, reading
from biasfree_papers.shared.trajectories import LEVELS, accurate, drift_of, fall

OURS = 2
DATA = Settings(**SMALL).data(printed=False)
START = Settings(**SMALL).start(3, 0, printed=False)["relu"]


def test_numbers(numbers):
    assert numbers.path.sizes == {
        "depth": 1,
        "network": 2,
        "state": numbers.sizes["save"],
        "part": 3,
        "quantity": 3,
    }
    assert (numbers.left < 1.1e-6).all()  # the level at which descent stops, a little below where it began
    # a linear target is learned: u_lin³ = |w*| but for the start, whose layers are of size 0.1 and not equal
    last = numbers.path.sel(network="linear", part="whole", quantity="size").dropna("state").isel(state=-1)
    np.testing.assert_allclose(last**3, numbers.target, rtol=0.02)


@pytest.mark.parametrize("name", ["relu", "linear"])
def test_speeds_are_slopes(name):
    """Speeds from the outputs alone are the changes of sizes in a small step of descent."""
    network = Settings(**{**SMALL, "scale": 0.7}).start(3, 1, printed=True)[name]
    step = 1e-5
    path = bf.gradient_descent(network, DATA, step=step, steps=1, until=1e-300)
    before, after = (reading(one, DATA) for one in path)
    # rates of order 1: second derivatives add about a step's size, and roundings 1e-16/1e-5
    np.testing.assert_allclose((after[:, 0] - before[:, 0]) / step, before[:, 1], atol=1e-4)


def test_on_the_structure_the_theory_is_exact():
    for leak in (0.0, 1.0):
        network = bf.networks.low_rank(DATA.beta + 0.2, widths=(12, 12), scale=0.8, leak=leak)
        size, speed, theory = reading(network, DATA).T
        np.testing.assert_allclose(speed, theory, rtol=1e-12)
        np.testing.assert_allclose(size, [0.8, *([0.8 / np.sqrt(2)] * 2 if leak == 0 else [])], rtol=1e-12)


@pytest.mark.parametrize("name", ["left", "trusted"])
def test_a_network_that_has_not_learned_or_is_not_accurate_proves_nothing(experiment, numbers, name):
    value = np.ones((1, 1)) if name == "left" else np.zeros((1, 1), dtype=bool)
    claims = experiment.claims(numbers.assign({name: (("depth", "seed"), value)}))
    assert all(np.isnan(claim.measured).all() and not claim.holds for claim in claims[OURS:])
    assert claims[OURS].note == "1 of 1 have not learned their target, or not within the error 0.001"


def test_falls_give_rows_like_the_printed_run():
    """Two ReLU networks stand for the pair; the shapes are the same."""
    settings = Settings(**SMALL, end=2000)
    row, path = fallen({"relu": START, "linear": START}, DATA, settings)
    assert row["left"] < 1.1e-5
    assert row["trusted"]
    assert path.shape == (2, len(LEVELS) + 1, 3, 3)
    censored, _ = fallen({"relu": START, "linear": START}, DATA, Settings(**SMALL, end=1.0))
    assert censored["left"] > 0.9


def test_falls_stop_at_their_levels():
    found = fall(START, DATA, end=2000, rtol=1e-3)
    assert found.reached == len(LEVELS)
    assert found.stopped == "all levels reached"
    assert found.drift < found.error
    # a level is located within a step, to the step's own accuracy
    np.testing.assert_allclose(found.left, [1.0, *LEVELS], rtol=1e-3)
    assert (np.diff(found.ts) > 0).all()


def test_a_fall_that_cannot_be_followed_keeps_what_it_reached(monkeypatch):
    from biasfree.dynamics import gradient_flow as flow

    def refuse(network, data, ts, **options):
        if options["until"] < 0.05:
            raise bf.dynamics.UnfinishedError("events accumulate at t = 3")
        return flow(network, data, ts, **options)

    monkeypatch.setattr("biasfree.dynamics.gradient_flow", refuse)
    found = fall(START, DATA, end=2000, rtol=1e-3)
    assert found.stopped == "events accumulate at t = 3"
    assert 0 < found.reached == len(found.networks) - 1 < len(LEVELS)


def test_errors_count_if_conserved_norms_confirm_them():
    assert accurate([1e-4, 1e-4, 2e-3, np.nan], [1e-5, 1e-3, 1e-5, 0.0]).tolist() == [
        True,
        False,
        False,
        False,
    ]


@pytest.mark.parametrize("factor", [1.0, 1.01])
def test_the_drift_of_norms_is_the_error_they_show(factor):
    """One layer scaled by 1 + ε changes |W_l|² by 2ε of it: half of the two layers that 4|W|² allows for."""
    network = bf.networks.low_rank(np.ones(3), widths=(4, 4), scale=0.7)
    other = bf.Network((*network.weights[:2], factor * network.weights[2]))
    np.testing.assert_allclose(drift_of([network, other]), (1 - factor**-2) / 4, atol=1e-15)


def test_a_note_is_the_reason_of_a_failure(experiment, numbers):
    near, far = (
        experiment.claims(numbers.assign(linear_outside=0 * numbers.kept + value))[OURS + 1]
        for value in (0.1, 0.5)
    )
    assert (near.holds, near.note) == (True, "")
    assert f"from {float(numbers.kept[0, 0]):.2f} of" in far.note


@pytest.mark.parametrize("repeat", [1, 2])
def test_a_size_that_does_not_tell_failures_apart_is_no_reason(repeat):
    """One value per run, or two, of two networks."""
    measured = (0.1, 0.5) * repeat
    claim = Claim("a", "b", "observed", measured, (0.2,), "c", (0, 1), each="runs")
    near, far = (xarray.DataArray([[0.30, 0.32]]), xarray.DataArray([[0.32, 0.30]]))
    assert explained(claim, near).note.endswith("where it holds from 0.30 or less")
    assert not explained(claim, far).note


def test_the_papers_claims_are_of_its_depth(experiment, numbers):
    """Runs of four layers that fail are no failure of what the paper shows of three."""
    rows = ("relu_outside", "linear_outside", "outer_second", "middle_third")
    bad = numbers.assign(dict.fromkeys(rows, 0 * numbers.kept + 0.5)).assign_coords(depth=[4])
    claims = experiment.claims(xarray.concat([numbers, bad], "depth", data_vars="minimal"))
    printed = claims[OURS : OURS + 3]
    assert {claim.kind for claim in printed} == {"paper"}
    assert [len(claim.measured) for claim in printed] == [1, 1, 2]
    assert all(claim.holds for claim in printed)
    assert len(claims[-1].measured) == 2


def test_path_gap_is_relative_to_the_largest_speed():
    path = xarray.DataArray([[0.1, 1.0, 1.0], [0.2, 4.0, 5.0]], dims=("state", "quantity"))
    assert path_gap(path.assign_coords(quantity=["size", "speed", "predicted"])) == 0.2
