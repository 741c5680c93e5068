"""Fig. 5 in small: three layers of few neurons, with the same run, claims and picture."""

import numpy as np
import pytest

import biasfree as bf
from biasfree_papers.experiment import Claim
from biasfree_papers.fig5 import EXPERIMENT
from biasfree_papers.fig5 import numbers as runs
from biasfree_papers.fig5.course import course
from biasfree_papers.fig5.sentences import _explained, path_gap
from biasfree_papers.shared.loss_levels import LEVELS, accurate, drift_of, fall

OURS = 7


def test_numbers(numbers):
    assert numbers["relu3"].shape == (len(numbers["relu_ts"]), 3, 3)
    assert numbers["linear3"].shape == (len(numbers["linear_ts"]), 1, 3)
    assert (numbers["left"] < 1.1e-6).all()  # the level at which descent stops, a little below where it began
    # a linear target is learned: u_lin³ = |w*| but for the start, whose layers are of size 0.1 and not equal
    np.testing.assert_allclose(numbers["linear3"][-1, 0, 0] ** 3, numbers["target3"], rtol=0.02)
    # printed Eq. 42 is right for the first and the last layer
    np.testing.assert_allclose(numbers["slope_printed"], [0, 1, 0], atol=1e-10)


@pytest.mark.parametrize("name", ["relu", "linear"])
def test_speeds_are_slopes(name):
    """Speeds from the outputs alone are the changes of sizes in a small step of descent."""
    settings = EXPERIMENT.settle({**EXPERIMENT.small, "scale": 0.7})
    data = runs.tasks.linear_teacher(20, 4, seed=0)
    network = dict(zip(("relu", "linear"), runs._printed_start(settings, 1), strict=True))[name]
    step = 1e-5
    path = bf.gradient_descent(network, data, step=step, steps=1, until=1e-300)
    before, after = (runs._reading(one, data) for one in path)
    # rates of order 1: second derivatives add about a step's size, and roundings 1e-16/1e-5
    np.testing.assert_allclose((after[:, 0] - before[:, 0]) / step, before[:, 1], atol=1e-4)


def test_on_the_structure_the_theory_is_exact():
    data = runs.tasks.linear_teacher(20, 4, seed=0)
    for leak in (0.0, 1.0):
        network = bf.networks.low_rank(data.beta + 0.2, widths=(12, 12), scale=0.8, leak=leak)
        size, speed, theory = runs._reading(network, data).T
        np.testing.assert_allclose(speed, theory, rtol=1e-12)
        np.testing.assert_allclose(size, [0.8, *([0.8 / np.sqrt(2)] * 2 if leak == 0 else [])], rtol=1e-12)


def test_a_draw_that_has_not_learned_proves_nothing(numbers):
    claims = EXPERIMENT.claims({**numbers, "left": np.ones_like(numbers["left"])})
    assert all(np.isnan(claim.measured).all() and not claim.holds for claim in [*claims[OURS:-4], claims[-3]])
    assert claims[OURS].note == "1 of 1 have not learned their target, or not within the error 0.001"


def test_a_flow_that_is_not_accurate_proves_nothing(numbers):
    claims = EXPERIMENT.claims({**numbers, "trusted": np.zeros_like(numbers["trusted"])})
    assert all(np.isnan(claim.measured).all() for claim in [*claims[OURS:-4], *claims[-3:]])


def test_falls_give_rows_like_the_printed_run():
    """Two ReLU networks stand for the pair; the shapes are the same."""
    settings = EXPERIMENT.settle({**EXPERIMENT.small, "end": 2000})
    data = runs.tasks.linear_teacher(20, 4, seed=0)
    relu = runs._flow_start(settings, 3, 0)[0]
    row, paths = runs._fallen(3, 0, (relu, relu), data, settings)
    assert row["left"] < 1.1e-5
    assert row["ratio"] == 1
    assert row["trusted"]
    assert row["events"] > 0
    assert paths["relu3"].shape[1:] == (3, 3)
    censored, _ = runs._fallen(3, 0, (relu, relu), data, {**settings, "end": 1.0})
    assert censored["left"] > 0.9


def test_falls_stop_at_their_levels():
    settings = EXPERIMENT.settle(EXPERIMENT.small)
    start = runs._flow_start(settings, 3, 0)[0]
    found = fall(start, runs.tasks.linear_teacher(20, 4, seed=0), end=2000, rtol=1e-3)
    assert found.reached == len(LEVELS)
    assert found.stopped == "all levels reached"
    assert found.drift < found.error
    # a level is located within a step, to the step's own accuracy
    np.testing.assert_allclose(found.left, [1.0, *LEVELS], rtol=1e-3)
    assert (np.diff(found.ts) > 0).all()


def test_a_fall_that_cannot_be_followed_keeps_what_it_reached(monkeypatch):
    from biasfree.dynamics import gradient_flow as flow

    settings = EXPERIMENT.settle(EXPERIMENT.small)
    start, data = runs._flow_start(settings, 3, 0)[0], runs.tasks.linear_teacher(20, 4, seed=0)

    def refuse(network, data, ts, **options):
        if options["until"] < 0.05:
            raise bf.dynamics.UnfinishedError("events accumulate at t = 3")
        return flow(network, data, ts, **options)

    monkeypatch.setattr("biasfree.dynamics.gradient_flow", refuse)
    found = fall(start, data, end=2000, rtol=1e-3)
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


def test_the_course_of_an_exact_start_is_its_own():
    data = runs.tasks.linear_teacher(20, 4, seed=0)
    start = bf.networks.low_rank(data.beta, widths=(3, 3), scale=0.1, leak=1.0)
    ts = np.linspace(0, 40, 401)
    path = bf.theory.deep_flow(start, data, ts)
    sizes = np.array([network.norms[-1] for network in path])
    found = course(ts, np.stack([sizes, np.zeros_like(sizes)], axis=1), data, speed=1.0)
    after = found["course_ts"] > ts[np.argmax(sizes**3 > 0.02)]
    # by then r has begun to turn from β to w*; a part that never escapes keeps the first loss
    np.testing.assert_allclose(found["course_loss"][-1], np.mean(data.y**2) / 4, rtol=1e-6)
    own = np.interp(found["course_ts"][after], ts, path.loss)
    np.testing.assert_allclose(2 * found["course_loss"][after] - found["course_loss"][0], own, atol=0.02)


def test_a_note_is_the_reason_of_a_failure(numbers):
    near, far = (
        EXPERIMENT.claims({**numbers, "linear_outside": np.full_like(numbers["kept"], value)})[OURS + 1]
        for value in (0.1, 0.5)
    )
    assert (near.holds, near.note) == (True, "")
    assert f"from {numbers['kept'][0]:.2f} of" in far.note


def test_a_size_that_does_not_tell_failures_apart_is_no_reason():
    claim = Claim(
        sentence="a", source="b", kind="observed", measured=(0.1, 0.5), bound=(0.2,), origin="c", seeds=(0, 1)
    )
    assert _explained(claim, np.array([0.30, 0.32])).note.endswith("where it holds from 0.30 or less")
    assert not _explained(claim, np.array([0.32, 0.30])).note


def test_the_papers_claims_are_of_its_depth_and_ours_of_the_others(numbers):
    """Runs of four layers that fail are no failure of what the paper shows of three."""
    rows = ("depths", "draws", "left", "relu_outside", "linear_outside", "outer_second", "middle_third")
    more = {name: np.append(numbers[name], 1.0) for name in (*rows, "agreeing", "aligned", "kept", "ratio")}
    more |= {"depths": np.array([3, 4]), "left": np.zeros(2), "relu4": numbers["relu3"]}
    more["trusted"] = np.ones(2, bool)
    claims = EXPERIMENT.claims({**numbers, **more})
    paper, deeper = claims[OURS : OURS + 6], claims[OURS + 6 : OURS + 12]
    assert {claim.kind for claim in paper} == {"paper"}
    assert {claim.kind for claim in deeper} == {"observed"}
    assert all(len(claim.measured) == 1 for claim in (*paper, *deeper))
    assert all("beyond [ZSL25]" in claim.source for claim in deeper)
    assert not any(claim.holds for claim in deeper[:4])


def test_rows_of_the_middle_layer_align_before_the_loss_falls(numbers):
    assert numbers["relu_aligned"].shape == numbers["relu_ts"].shape
    assert numbers["relu_aligned"][0] < numbers["relu_aligned"][-1]
    assert numbers["relu_rows_last"].shape == (12, 2)
    flat = {**numbers, "relu_loss": np.ones_like(numbers["relu_loss"])}
    claim = next(one for one in EXPERIMENT.claims(flat) if "a tenth of the loss" in one.sentence)
    assert np.isnan(claim.measured[0])  # a loss that stays proves nothing


def test_path_gap_is_relative_to_the_largest_speed():
    path = np.array([[0.1, 1.0, 1.0], [0.2, 4.0, 5.0]])
    assert path_gap(path) == 0.2


def test_depths_include_the_papers():
    with pytest.raises(ValueError, match="must include 3"):
        EXPERIMENT.settle({"depths": "4,5"})
