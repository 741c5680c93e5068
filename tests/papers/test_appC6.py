"""App. C.6 in small: few samples, neurons and steps."""

import numpy as np
import pytest

from biasfree_papers.appC6.compute import meetings


def test_numbers(numbers):
    assert numbers.matched.sizes == numbers.equal.sizes == {"kind": 2, "step": 2, "leak": 2, "seed": 2}
    assert np.isnan(numbers.relu_loss.sel(step=0.8)[:, -1]).all()  # fewer of the larger steps
    rank_one = numbers.sel(kind="rank one")
    assert (rank_one.equal > 1e3 * rank_one.matched).all()


def test_common_rescaled_times(experiment):
    """c = 3/4: three steps of the linear network last as long as four of the other."""
    assert meetings(0.5) == (3, 4)
    assert meetings(0.0) == (1, 2)
    with pytest.raises(ValueError, match="a fraction of at most 16 parts"):
        experiment.settle({"leaks": (0, 0.3333)})


def test_an_end_on_the_plateau_is_refused_before_anything_is_computed(experiment):
    told: list[str] = []
    with pytest.raises(ValueError, match=r"end must be at least 4\.81, where the plateau ends, got 2\."):
        experiment.compute(experiment.settle({**experiment.small, "end": 2}), told.append)
    assert not told
