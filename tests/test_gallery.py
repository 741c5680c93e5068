"""The gallery of docs/gallery.md: what judges the advice, and two of its exhibits."""

import re
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("sklearn")
DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture(scope="module")
def gallery():
    sys.path.insert(0, str(DOCS))
    try:
        import gallery

        yield gallery
    finally:
        sys.path.remove(str(DOCS))


@pytest.mark.parametrize("bias", [False, True])
def test_an_odd_target_on_mirrored_data(gallery, bias):
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
def test_the_judge(gallery, case, pays, gain, right):
    task = SimpleNamespace(known=pays, mirrored=True, classes=0, fresh=(None, None), linear=np.zeros(9))
    gap = gain + 0.1 * np.random.default_rng(0).normal(size=6000)
    gap += gain - gap.mean()
    assert gallery._right(case, task, gap, bias=False, samples=600) == right


def test_there_are_twenty_with_names_of_their_own(gallery):
    assert len({one.name for one in gallery.exhibits()}) == 20


def test_the_page_lists_every_exhibit_and_counts_its_answers(gallery):
    page = (DOCS / "gallery.md").read_text()
    rows = re.findall(r"^\| (.+?) \| .+ \| (right|cannot tell|wrong) \|$", page, re.MULTILINE)
    assert [name for name, _ in rows] == [one.name for one in gallery.exhibits() for _ in (0, 1)]
    counts = [sum(judged == kind for _, judged in rows) for kind in ("right", "cannot tell", "wrong")]
    assert "Of 40 answers: {} right, {} cannot tell, {} wrong.".format(*counts) in page


@pytest.mark.usefixtures("gallery")
def test_parts_of_a_page_are_replaced():
    from inserting import inserted

    page = "a\n<!-- t: by x.py -->\nold\n<!-- end of t -->\nb\n"
    assert inserted(page, "t", "new \\1") == "a\n<!-- t: by x.py -->\nnew \\1\n<!-- end of t -->\nb\n"
    with pytest.raises(ValueError, match="must have one part <!-- u: by"):
        inserted(page, "u", "new")
