"""App. C.6 in small: few samples, neurons and steps."""

import numpy as np
import pytest

from biasfree.files import load_npz, save_npz
from biasfree_papers import appC6
from biasfree_papers.appC6 import numbers as runs
from biasfree_papers.experiment import silent

SMALL = {"width": 12, "dimensions": 3, "samples": 10, "steps": (0.2, 0.8), "end": 12, "seeds": 2}


@pytest.fixture(scope="module")
def numbers():
    return appC6.EXPERIMENT.run(appC6.EXPERIMENT.settle(SMALL), silent)


def test_numbers(numbers):
    assert numbers["matched"].shape == numbers["equal"].shape == (2, 2, 2, 2)
    known = {
        name: value for name, value in numbers.items() if name not in ("kinds", "relu_loss", "linear_loss")
    }
    assert all(np.isfinite(value).all() for value in known.values())
    assert np.isnan(numbers["relu_loss"][:, 1, -1]).all()  # fewer of the larger steps
    assert (numbers["equal"][0] > 1e3 * numbers["matched"][0]).all()


def test_common_rescaled_times():
    """c = 3/4: three steps of the linear network last as long as four of the other."""
    assert runs.meetings(0.5) == (3, 4)
    assert runs.meetings(0.0) == (1, 2)
    with pytest.raises(ValueError, match="a fraction of at most 16 parts"):
        appC6.EXPERIMENT.settle({"leaks": (0, 0.3333)})


def test_an_end_on_the_plateau_is_refused_before_anything_is_computed():
    told = []
    with pytest.raises(ValueError, match=r"end must be at least 4\.81, where the plateau ends, got 2\."):
        appC6.EXPERIMENT.run(appC6.EXPERIMENT.settle({**SMALL, "end": 2}), told.append)
    assert not told


def test_our_claims_hold_and_the_papers_decides_nothing(numbers):
    claims = appC6.EXPERIMENT.claims(numbers)
    assert [claim.kind for claim in claims] == ["ours", "ours", "observed"]
    assert all(claim.holds for claim in claims[:2]), [claim.verdict for claim in claims]
    (table,) = appC6.EXPERIMENT.tables(numbers)
    assert [row[0] for row in table.rows] == [0.2, 0.8]


@pytest.mark.parametrize(
    ("spoilt", "by", "falls"), [("matched", 1e-8, 0), ("plateau_error", 0.05, 1), ("plateau_law", 0.05, 1)]
)
def test_claims_fail_where_the_numbers_are_wrong(numbers, spoilt, by, falls):
    claims = appC6.EXPERIMENT.claims({**numbers, spoilt: numbers[spoilt] + by})
    assert [claim.holds for claim in claims[:2]] == [i != falls for i in range(2)]


def test_picture(numbers, tmp_path):
    save_npz(tmp_path / "numbers.npz", numbers)
    figure = appC6.EXPERIMENT.draw(load_npz(tmp_path / "numbers.npz", needs=()))
    panels = [axes for axes in figure.axes if axes.get_title(loc="left")]
    assert sorted(axes.get_title(loc="left") for axes in panels) == ["(a)", "(b)", "(c)", "(d)"]
    assert all(axes.get_ylabel() for axes in panels)
    below = [axes for axes in figure.axes if axes not in panels]  # the gap of a broken axis
    assert len(below) == 1
    assert sum(bool(axes.get_xlabel()) for axes in figure.axes) == 4
    assert any("98 %" in name for axes in panels for name in axes.get_legend_handles_labels()[1])
