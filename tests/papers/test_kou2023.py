"""Kou et al. in small: the same runs, claims and picture, with few neurons, samples and steps."""

import numpy as np
import pytest

import biasfree as bf
from biasfree_papers.experiment import silent
from biasfree_papers.kou2023 import EXPERIMENT
from biasfree_papers.kou2023.sentences_exponents import exponents, law
from biasfree_papers.shared import sign_blocks

OURS = 6


def test_numbers(numbers):
    assert numbers["loss"].shape == numbers["spread"].shape == (3, 2, 2, 15)
    assert numbers["ranks"].shape == (3, 2, 2, 15, 3)
    assert numbers["steps"].tolist()[:8] == [0, 1, 2, 3, 4, 6, 8, 12]
    np.testing.assert_allclose(numbers["loss"][..., 0], np.log(2), rtol=0.05)
    np.testing.assert_allclose(numbers["limit"][-1, :, 1, 1:], 1, rtol=1e-12)  # leaky, orthogonal
    assert numbers["near_orthogonality"][-1].max() < 1e-12 < numbers["near_orthogonality"][0].min()


def test_tables(numbers):
    (table,) = EXPERIMENT.tables(numbers)
    assert [row[0] for row in table.rows] == [20, 20, 2000, 2000, "orthogonal", "orthogonal"]


def test_the_paper_is_judged_where_inputs_are_nearly_orthogonal(numbers):
    """In 20 dimensions six samples are not: what leaky blocks do there is a claim of its own."""
    spoilt = {**numbers, "ranks": numbers["ranks"].copy()}
    spoilt["ranks"][0] = 5.0
    assert numbers["near_orthogonality"][0].min() > 1 > numbers["near_orthogonality"][1].max()
    before, after = (EXPERIMENT.claims(one)[OURS:] for one in (numbers, spoilt))
    assert [claim.measured for claim in before[:4]] == [claim.measured for claim in after[:4]]
    assert after[4].measured == (5.0, 5.0)
    none = EXPERIMENT.claims({**numbers, "near_orthogonality": numbers["near_orthogonality"] + 1})
    assert all(np.isnan(claim.measured).all() for claim in none[OURS : OURS + 4])


def test_too_few_dimensions_are_refused():
    with pytest.raises(ValueError, match="dimensions must be at least samples"):
        EXPERIMENT.run(EXPERIMENT.settle({**EXPERIMENT.small, "dimensions": (5,)}), silent)


def test_exponents_of_a_power_law(numbers):
    steps = np.maximum(numbers["steps"], 1)
    changed = {**numbers, "loss": np.broadcast_to(3 * steps**-0.8, numbers["loss"].shape)}
    np.testing.assert_allclose(exponents(changed), -0.8, rtol=1e-12)
    late = {**numbers, "rate": 1e6 * numbers["rate"]}
    np.testing.assert_allclose(law(late), -1, atol=1e-5)  # ln(ct)/(ct), ct of some 1e7


def test_runs_are_saved_ever_more_rarely_and_settle():
    """Settled is the first saved step from which on all gates are the last ones."""
    network = bf.networks.xavier((6, 24, 1), factor=1e-3, leak=0.1, seed=2, signs=True)
    start = bf.networks.in_span(network, bf.data.orthogonal(6, 6, seed=1))
    data = start.data
    run = sign_blocks.descended(start.network, data, step=1.0, doublings=7)
    assert len(run) == 15
    assert run.ts.tolist()[:8] == [0, 1, 2, 3, 4, 6, 8, 12]
    found = sign_blocks.since_settled(run, start, 1.0)
    first = run.ts.tolist().index(found["settled"])
    same = [np.array_equal(net.weights[0] @ data.x.T > 0, run[-1].weights[0] @ data.x.T > 0) for net in run]
    assert first > 0
    assert all(same[first:])
    assert not same[first - 1]
    assert (found["low"] < found["z"]).all()
    assert (found["z"] < found["high"]).all()


def test_the_expected_ratio_is_that_of_draws():
    """Medians of five draws, to 15 %: the largest of 190 products spreads by 10 % or so."""
    found = np.median(
        [
            bf.diagnostics.near_orthogonality(bf.data.gaussian_mixture(20, 2000, 1.0, seed=seed))
            for seed in range(5)
        ]
    )
    np.testing.assert_allclose(found, sign_blocks.gaussian_ratio(np.array(2000.0), 20, 1.0), rtol=0.15)
