"""The pages of the site: Python becomes cells, names lead to the reference, links to other pages."""

import re
from pathlib import PurePosixPath

import nbformat
import pytest

import biasfree as bf
import pages
import reference
import replays
from build import own_pages
from theory_map import theory_map
from uses import footer, plain, uses

PLACES = {
    PurePosixPath("docs/theory/one.md"): "theory/one.md",
    PurePosixPath("docs/two.md"): "two.md",
    PurePosixPath("ARCHITECTURE.md"): "project/architecture.md",
    PurePosixPath("docs/pictures/a.png"): "pictures/a.png",
}


def made(text, *, runs=True):
    known = {"biasfree.gradient_flow", "biasfree.theory.white_flow"}.__contains__
    return pages.page(text, PurePosixPath("docs/theory/one.md"), PLACES, known, runs=runs)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[a](../two.md#part)", "[a](../two.md#part)"),
        ("[a](../../ARCHITECTURE.md)", "[a](../project/architecture.md)"),
        ("![alt](../pictures/a.png)", "![alt](../pictures/a.png)"),
        ("[`f`](../../src/biasfree/f.py#L3)", "`f`"),
        ("[a](https://example.org) [b](#here)", "[a](https://example.org) [b](#here)"),
        ("`bf.theory.white_flow`", "{py:obj}`bf.theory.white_flow <biasfree.theory.white_flow>`"),
        ("`bf.gradient_flow(n, x)`", "{py:obj}`bf.gradient_flow(n, x) <biasfree.gradient_flow>`"),
        ("`bf.unknown` and `white_flow`", "`bf.unknown` and `white_flow`"),
        ("[`bf.gradient_flow`](../two.md)", "[`bf.gradient_flow`](../two.md)"),
        ("[`bf.gradient_flow`](f.py)", "{py:obj}`bf.gradient_flow <biasfree.gradient_flow>`"),
        ("```\nbiasfree run [a](b)\n```", "```\nbiasfree run [a](b)\n```"),
    ],
)
def test_a_line(text, expected):
    assert made(text) == expected


@pytest.mark.parametrize("kind", ["output", "text"])
def test_python_becomes_a_cell_and_its_output_is_left_to_the_run(kind):
    text = f"# A\n\n```python\nprint(1)\n```\n\n```{kind}\n1\n```\n"
    assert made(text) == pages.HEAD + "# A\n\n```{code-cell}\nprint(1)\n```\n\n\n"
    assert made(text, runs=False) == text


def test_downloads_show_what_a_page_folds_and_leave_out_its_frames():
    text = "<details><summary>Solution</summary>\n\nYes.\n\n</details>\n\n<iframe src=a></iframe>\nb\n"
    assert pages.downloadable(text) == "**Solution.**\n\nYes.\n\n\nb\n"


def made_cells(text, *kinds):
    """The cells of the notebook of a page."""
    cells = nbformat.reads(pages.notebook(text), as_version=4).cells
    return [cell for cell in cells if cell.cell_type in kinds]


def test_files_of_a_page_become_cells_that_write_them(tmp_path, monkeypatch):
    text = '# A\n\n**`p/a.py`**\n\n```python\n"""τ."""\nx = \'\\\\n\'\n```\n\n```\nbiasfree list\n```\n'
    monkeypatch.chdir(tmp_path)
    for cell in made_cells(pages.downloadable(text, folder="three"), "code"):
        exec(cell.source, {})
    assert (tmp_path / "three/p/a.py").read_text() == '"""τ."""\nx = \'\\\\n\'\n'


def test_a_page_is_a_notebook():
    text = "# A\n\n```python\nx = 1\n```\n\nMore.\n\n```python\nprint(x + 1)\n```\n\n```output\n2\n```\n"
    cells = made_cells(text, "markdown", "code")
    assert [cell.source for cell in cells] == ["# A", "x = 1", "More.", "print(x + 1)"]
    assert [cell.cell_type for cell in cells] == ["markdown", "code"] * 2


def test_every_public_name_is_in_the_reference_once(monkeypatch):
    monkeypatch.setattr(reference, "uses", lambda _: "Tested.")
    names = [one.name for room in reference.entries().values() for one in room]
    assert len(names) == len(set(names)) > 100
    assert reference.known("biasfree.gradient_flow")
    assert not reference.known("biasfree.dynamics.gradient_flow")
    page = reference.pages()["biasfree.theory"]
    assert "::::{py:function} white_flow(network, data, ts, **tolerances)\n" in page
    assert "**Reference:** \\[ZSL25\\] Corollary 14" in page


def test_function_and_page_lead_to_each_other():
    assert "[white_flow](../theory/white_flow.md)" in uses("biasfree.theory.white_flow")
    assert "`tests/theory/symmetric/test_white_flow.py`" in uses("biasfree.theory.white_flow")
    assert "{py:obj}`bf.theory.white_flow <biasfree.theory.white_flow>`" in footer("white_flow")


def test_the_map_has_every_result_with_its_hypotheses():
    text = theory_map()
    assert text.count("biasfree.theory.white_flow>") >= 1
    assert "[white](#white)" in text
    assert "\n## white\n" in text


def test_only_code_and_emphasis_stay_markup():
    assert plain("[ZSL25] `a[0]` $x$ *b*") == "\\[ZSL25\\] `a[0]` \\$x\\$ *b*"


def test_every_plot_has_a_page():
    """Colors and widths are constants, not plots."""
    shown = {
        name.removeprefix("plots/").removesuffix(".md") for name in own_pages() if name.startswith("plots/")
    }
    functions = {name for name in bf.plots.__all__ if not name.isupper()}
    assert shown == functions | {"index"}


def test_every_replay_that_a_page_shows_is_written():
    shown = re.findall(r'<iframe src="replays/(\w+)\.html"', "".join(own_pages().values()))
    assert set(shown) == set(replays.REPLAYS)
