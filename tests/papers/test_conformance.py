"""What every installed figure must do, checked on its small run; its mathematics is in a file of its own.

Figures of other packages are checked too, where these tests find them installed.
"""

import json
import re
from collections.abc import Callable, Iterator
from string import ascii_lowercase
from typing import Any, NamedTuple

import numpy as np
import pytest
import xarray

from biasfree_papers.experiment import BASES, KINDS, NEIGHBORS, PAPER, Experiment, silent
from biasfree_papers.registry import REGISTRY
from biasfree_papers.reproduction.storage import content
from expected_figures import EXPECTED, spoilt
from refusals import invalid

#: Each array of a figure that is made wrong, as a case of its own.
SPOILT = [(name, *one) for name, expected in EXPECTED.items() if name in REGISTRY for one in expected.spoilt]


#: Settings that a figure does not take, and a part of what it says.
REFUSED = [
    ("fig1", {"points": 7}, "points must be even"),
    ("fig4", {"sets": (3,)}, r"must be 2 \(orthogonal points\), 4 \(XOR\) or both"),
    ("fig4", {"times": 3}, "times must be a whole number of at least 101, got 3"),
    ("fig5", {"depths": "4,5"}, "must include 3"),
    ("fig6", {"left": 1.0}, "share of the plateau"),
    ("bias", {"width": 11}, "width must be even, since neurons come in opposite pairs"),
    ("basri2019", {"points": 15}, "must be even"),
    ("basri2019", {"frequencies": (2, 3, 4, 5)}, "begin with 1, 2, 3, 4"),
    ("conjecture", {"scales3": "0.1,0.2,0.3"}, "two positive numbers, which are compared"),
    ("lai2026", {"scale": 0.1}, r"at most 0\.05"),
    ("lyu2021", {"horizon": 10}, "horizon must be 100 or more"),
    ("lyu2021", {"size": 0.0}, "size must be"),
    ("sarussi2021", {"samples": (3, 8)}, "samples must divide the largest"),
    ("sarussi2021", {"samples": (3,)}, "itself even"),
    ("sarussi2021", {"widths": (3,)}, "widths must be even"),
    ("sarussi2021", {"horizon": 100.0}, "horizon must be more than 100"),
]


class Small(NamedTuple):
    """A figure, and the numbers of its small run."""

    experiment: Experiment
    numbers: xarray.Dataset


@pytest.fixture(scope="module", params=list(REGISTRY))
def figure(request: pytest.FixtureRequest, small_run: Callable[[str], xarray.Dataset]) -> Small:
    return Small(REGISTRY[request.param], small_run(request.param))


@pytest.mark.parametrize("name", REGISTRY)
def test_texts(name):
    experiment = REGISTRY[name]
    assert experiment.name == name
    assert experiment.section in (PAPER, NEIGHBORS)
    assert experiment.seconds > 0
    assert experiment.title
    assert experiment.caption.endswith(".")
    assert all(sentence.endswith(".") for sentence in experiment.deviations)


@pytest.mark.parametrize("name", REGISTRY)
def test_settings(name):
    """Defaults and small settings pass their own checks and survive being typed; wrong ones are named."""
    experiment = REGISTRY[name]
    typed = {name: setting.written for name, setting in experiment.settings.described().items()}
    assert experiment.settle(typed) == experiment.settle()
    assert experiment.settle(experiment.small) != experiment.settle()
    invalid(f"{name} has no setting 'wrong'; it has: ", experiment.settle, {"wrong": 1})
    for setting, told in experiment.settings.described().items():
        with pytest.raises(
            ValueError, match=f"cannot read {setting}='many'; expected {re.escape(told.meaning)}"
        ):
            experiment.settle({setting: "many"})
        invalid(setting, experiment.settle, {setting: np.nan})


@pytest.mark.parametrize(("name", "changes", "message"), REFUSED)
def test_settings_that_a_figure_does_not_take(name, changes, message):
    invalid(message, REGISTRY[name].settle, changes)


def test_numbers(figure):
    """Named arrays of numbers or words, without gaps where none has a meaning."""
    gaps = EXPECTED[figure.experiment.name].gaps if figure.experiment.name in EXPECTED else ""
    for name, value in figure.numbers.items():
        assert value.dtype.kind in "biufU", name
        if value.dtype.kind == "f" and not re.fullmatch(gaps, name):
            assert np.isfinite(value).all(), name


def test_claims(figure):
    """Ours come first and hold; each has its words and seeds and can be stored."""
    claims = figure.experiment.claims(figure.numbers)
    kinds = [claim.kind for claim in claims]
    assert kinds[: kinds.count("ours")] == ["ours"] * kinds.count("ours") != []
    assert [claim.sentence for claim in claims if claim.kind == "ours" and not claim.holds] == []
    assert all(claim.sentence and claim.source and claim.origin and claim.basis in BASES for claim in claims)
    assert not any(
        re.search("tends? to|turns to|become equal", claim.sentence) for claim in claims
    )  # runs end
    json.dumps([claim.record() for claim in claims], allow_nan=False)
    if figure.experiment.name in EXPECTED:
        assert tuple(map(kinds.count, KINDS)) == EXPECTED[figure.experiment.name].claims


@pytest.mark.parametrize(
    ("name", "array", "change", "fails"), SPOILT, ids=[f"{name}-{array}" for name, array, *_ in SPOILT]
)
def test_claims_fail_where_numbers_are_wrong(name, array, change, fails, small_run):
    """Those that read the array, and no other of ours."""
    numbers = small_run(name)
    wrong = change(np.asarray(numbers[array]), numbers)
    claims = REGISTRY[name].claims(spoilt(numbers, array, wrong))
    assert {i for i, claim in enumerate(claims) if claim.kind == "ours" and not claim.holds} == fails


def test_tables(figure):
    tables = figure.experiment.tables(figure.numbers)
    assert all(table.title and all(table.columns) and table.rows for table in tables)
    json.dumps([table.record() for table in tables], allow_nan=False)
    if figure.experiment.name in EXPECTED:
        assert tuple(len(table.rows) for table in tables) == EXPECTED[figure.experiment.name].rows


def test_picture(figure):
    """It is drawn without a warning; panels are lettered and labeled, and a caption by letters has all."""
    picture = figure.experiment.draw(figure.numbers)
    panels = {axes.get_title(loc="left").strip("()"): axes for axes in picture.axes}
    panels.pop("", None)
    named = _letters(figure.experiment.caption)
    assert named >= set(panels) or not named
    for letter, axes in panels.items():
        assert any(one.get_xlabel() for one in _aligned(axes, picture, 0)), letter
        assert any(one.get_ylabel() for one in _aligned(axes, picture, 1)), letter
    if figure.experiment.name in EXPECTED:
        expected = EXPECTED[figure.experiment.name]
        assert "".join(sorted(panels)) == expected.panels
        legends = [name for axes in picture.axes for name in axes.get_legend_handles_labels()[1]]
        assert expected.legend in "\n".join(legends)


def _letters(caption: str) -> set[str]:
    """The panels that a caption names: a, b and d to f for "(a, b) … (d–f) …"."""
    found = set()
    for group in re.findall(r"\(([a-z](?:(?:, |–)[a-z])*)\)", caption):
        for part in group.split(", "):
            first, last = part[0], part[-1]
            found |= set(ascii_lowercase[ascii_lowercase.index(first) : ascii_lowercase.index(last) + 1])
    return found


def _aligned(axes: Any, picture: Any, across: int) -> Iterator[Any]:
    """The panels of its column (0) or row (1), with which it may share a label."""
    own = axes.get_position().get_points()[:, across]
    for other in picture.axes:
        if np.allclose(other.get_position().get_points()[:, across], own, atol=1e-3):
            yield other


@pytest.mark.slow
@pytest.mark.parametrize("name", REGISTRY)
def test_the_same_seed_gives_the_same_bits(name, small_run):
    """A second small run; and its picture has a layout."""
    experiment = REGISTRY[name]
    again = experiment.compute(experiment.settle(experiment.small), silent)
    assert content(again) == content(small_run(name))
    experiment.draw(again).draw_without_rendering()
