"""App. C.5 in small: few samples, neurons and scales."""

import numpy as np
import pytest

from biasfree.files import load_npz, save_npz
from biasfree_papers import appC5
from biasfree_papers.experiment import silent

SMALL = {
    "width": 12,
    "dimensions": 3,
    "samples": 10,
    "leaks": (0, 0.5),
    "scales": (1e-2, 1, 3),
    "end": 8,
    "seeds": 2,
}


@pytest.fixture(scope="module")
def numbers():
    return appC5.EXPERIMENT.run(appC5.EXPERIMENT.settle(SMALL), silent)


def test_numbers(numbers):
    assert numbers["largest_error"].shape == (2, 3, 2, 2)
    assert numbers["relu_loss"].shape == (2, 3, len(numbers["rescaled"]))
    assert all(np.isfinite(value).all() for name, value in numbers.items() if name != "kinds")
    np.testing.assert_allclose(numbers["linear_loss"][1, 2, -1], numbers["least_squares"], rtol=1e-6)


def test_the_even_part_grows_with_the_square_of_the_scale(numbers):
    """Both layers are proportional to γ, so at t = 0 the distance of the functions is to γ²."""
    distance = numbers["first_distance"][1]
    np.testing.assert_allclose(distance[2] / distance[1], 9, rtol=1e-12)


def test_our_claims_hold_and_the_papers_decides_nothing(numbers):
    claims = appC5.EXPERIMENT.claims(numbers)
    assert [claim.kind for claim in claims] == ["ours", "ours", "observed"]
    assert all(claim.holds for claim in claims[:2]), [claim.verdict for claim in claims]
    assert claims[2].measured[0] == 1
    (table,) = appC5.EXPERIMENT.tables(numbers)
    assert len(table.rows) == 3


@pytest.mark.parametrize(("spoilt", "falls"), [("largest_error", 0), ("even_part", 1), ("first_distance", 1)])
def test_claims_fail_where_the_numbers_are_wrong(numbers, spoilt, falls):
    claims = appC5.EXPERIMENT.claims({**numbers, spoilt: numbers[spoilt] + 1e-6})
    assert [claim.holds for claim in claims[:2]] == [i != falls for i in range(2)]


def test_picture(numbers, tmp_path):
    save_npz(tmp_path / "numbers.npz", numbers)
    figure = appC5.EXPERIMENT.draw(load_npz(tmp_path / "numbers.npz", needs=()))
    panels = [axes for axes in figure.axes if axes.get_title(loc="left")]
    assert sorted(axes.get_title(loc="left") for axes in panels) == ["(a)", "(b)", "(c)", "(d)"]
    assert all(axes.get_ylabel() for axes in panels)
    below = [axes for axes in figure.axes if axes not in panels]  # the gap of a broken axis
    assert len(below) == 2
    assert sum(bool(axes.get_xlabel()) for axes in figure.axes) == 4
    assert any("98 %" in name for axes in panels for name in axes.get_legend_handles_labels()[1])
