"""Kou et al. in small: the same runs, claims and picture, with few neurons, samples and steps."""

import numpy as np
import pytest

import biasfree as bf
from biasfree_papers.experiment import silent
from biasfree_papers.kou2023.compute import slopes
from biasfree_papers.shared import sign_blocks

OURS = 2


def test_numbers(numbers):
    assert numbers.loss.sizes == numbers.spread.sizes == {"inputs": 3, "leak": 2, "seed": 2, "save": 15}
    assert numbers.ranks.sizes["block"] == 2
    assert numbers.save.values.tolist()[:8] == [0, 1, 2, 3, 4, 6, 8, 12]
    np.testing.assert_allclose(numbers.loss.isel(save=0), np.log(2), rtol=0.05)
    assert numbers.near_orthogonality[-1].max() < 1e-12 < numbers.near_orthogonality[0].min()


def test_the_paper_is_judged_where_inputs_are_nearly_orthogonal(experiment, numbers):
    """In 20 dimensions six samples are not."""
    spoilt = numbers.assign(ranks=numbers.ranks.where(numbers.inputs != "20", 5.0))
    assert numbers.near_orthogonality[0].min() > 1 > numbers.near_orthogonality[1].max()
    before, after = (experiment.claims(one)[OURS : OURS + 4] for one in (numbers, spoilt))
    assert [claim.measured for claim in before] == [claim.measured for claim in after]
    none = experiment.claims(numbers.assign(near_orthogonality=numbers.near_orthogonality + 1))
    assert all(np.isnan(claim.measured).all() for claim in none[OURS : OURS + 4])


def test_too_few_dimensions_are_refused(experiment):
    with pytest.raises(ValueError, match="dimensions must be at least samples, 6, got 5"):
        experiment.compute(experiment.settle({**experiment.small, "dimensions": (5,)}), silent)


def test_exponents_of_a_power_law():
    steps = np.arange(1, 9)
    np.testing.assert_allclose(slopes(steps, np.tile(3 * steps**-0.8, (2, 3, 1))), -0.8, rtol=1e-12)


def test_runs_are_saved_ever_more_rarely_and_settle():
    """Settled is the first saved step from which on the activation pattern is the last one."""
    network = bf.networks.xavier((6, 24, 1), factor=1e-3, leak=0.1, seed=2, signs=True)
    start = bf.networks.in_span(network, bf.data.orthogonal(6, 6, seed=1))
    data = start.data
    run = sign_blocks.descended(start.network, data, step=1.0, doublings=7)
    assert len(run) == 15
    assert run.ts.tolist()[:8] == [0, 1, 2, 3, 4, 6, 8, 12]
    found = sign_blocks.since_settled(run, data, 1.0)
    first = run.ts.tolist().index(found["settled"])
    same = [np.array_equal(net.weights[0] @ data.x.T > 0, run[-1].weights[0] @ data.x.T > 0) for net in run]
    assert first > 0
    assert all(same[first:])
    assert not same[first - 1]
    assert (found["low"] < found["z"]).all()
    assert (found["z"] < found["high"]).all()
