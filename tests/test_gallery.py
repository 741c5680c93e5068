"""The gallery of docs/gallery.md: what judges the advice, and two of its exhibits."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("sklearn")

import gallery


@pytest.mark.parametrize("bias", [False, True])
def test_an_odd_target_on_mirrored_data(bias):
    """[ZSL25] Thm. 5: without biases the model stays linear; with biases it learns."""
    found = gallery.judged(gallery.named("odd"), bias=bias)
    assert found.right == "right", found.answer
    assert found.case == ("earns" if bias else "held back")


@pytest.mark.parametrize(
    ("case", "pays", "gain", "right"),
    [
        ("earns", True, 0.1, "right"),
        ("earns", True, -0.1, "wrong"),
        ("earns", False, 0.1, "right"),
        ("earns", False, 0.002, "wrong"),
        ("needs none", False, 0.0, "right"),
        ("needs none", True, 0.0, "wrong"),
        ("needs none", False, -0.1, "wrong"),
        ("not yet", True, 0.0, "right"),
        ("not yet", True, 0.1, "wrong"),
        ("held back", True, 0.0, "right"),
        ("not trained", True, -0.1, "right"),
        ("not trained", True, 0.0, "wrong"),
        ("intercept", False, -0.1, "right"),
        ("no signal", False, -0.5, "right"),
        ("no signal", True, 0.0, "wrong"),
        ("unconfirmed", False, 0.1, "cannot tell"),
        ("too few", True, 0.0, "cannot tell"),
    ],
)
def test_the_judge(case, pays, gain, right):
    task: Any = SimpleNamespace(known=pays, mirrored=True, classes=0, fresh=(None, None), linear=np.zeros(9))
    gap = gain + 0.1 * np.random.default_rng(0).normal(size=6000)
    gap += gain - gap.mean()
    assert gallery._right(case, task, gap, bias=False, samples=600) == right


def test_there_are_twenty_with_names_of_their_own():
    assert len({one.name for one in gallery.exhibits()}) == 20


def test_the_table_has_a_row_per_answer_and_counts_them():
    exhibit = gallery.named("XOR")
    kinds = ("right", "right", "cannot tell")
    rows = [gallery.Judged(exhibit, True, -0.5, 0.9, "earns", "Yes.", one, 1.0) for one in kinds]
    text = gallery.table(rows)
    assert text.startswith("Of 3 answers: 2 right, 1 cannot tell, 0 wrong. All of it took 3 s")
    assert text.count("| XOR | 3 layers, ReLU | yes | −50.0 | 90.0 | Yes. | right |") == 2
