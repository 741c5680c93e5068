"""App. C.6 in small: few samples, neurons and steps."""

import numpy as np
import pytest

from biasfree_papers.appC6 import EXPERIMENT
from biasfree_papers.appC6 import numbers as runs


def test_numbers(numbers):
    assert numbers["matched"].shape == numbers["equal"].shape == (2, 2, 2, 2)
    assert np.isnan(numbers["relu_loss"][:, 1, -1]).all()  # fewer of the larger steps
    assert (numbers["equal"][0] > 1e3 * numbers["matched"][0]).all()


def test_common_rescaled_times():
    """c = 3/4: three steps of the linear network last as long as four of the other."""
    assert runs.meetings(0.5) == (3, 4)
    assert runs.meetings(0.0) == (1, 2)
    with pytest.raises(ValueError, match="a fraction of at most 16 parts"):
        EXPERIMENT.settle({"leaks": (0, 0.3333)})


def test_an_end_on_the_plateau_is_refused_before_anything_is_computed():
    told = []
    with pytest.raises(ValueError, match=r"end must be at least 4\.81, where the plateau ends, got 2\."):
        EXPERIMENT.run(EXPERIMENT.settle({**EXPERIMENT.small, "end": 2}), told.append)
    assert not told
