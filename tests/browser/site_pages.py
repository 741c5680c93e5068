"""The built site in a browser: `make docs-check` runs these tests on out/site, opened from the disk.

`QUESTIONS` are those of a first reader: each leads, by the site's own search, to the page that answers it.
"""

import os
import re
import time
from pathlib import Path
from urllib.parse import unquote

import nbformat
import pytest
from nbclient import NotebookClient

from browsing import (
    faint,
    heading_levels,
    introduction,
    levels_in_order,
    overflow,
    pictures,
    unfold,
    unnamed,
)
from build import TUTORIALS

SITE = Path(os.environ["BIASFREE_SITE"]).resolve()
PAGES = sorted(path for path in SITE.rglob("*.html") if path.name not in ("genindex.html", "search.html"))
TELEPHONE, DESKTOP = (390, 844), (1280, 800)
#: What a reader types → the pages that answer it, and words that the answer must have.
QUESTIONS = {
    "gradient_flow": ("reference/biasfree", "gradient_flow"),
    "plot neuron directions": ("plots/directions", "bf.plots.directions"),
    "neuron directions": ("plots/directions", "bf.plots.directions"),
    "compare with theory": ("faq|start", "reduced_flow"),
    "compare simulation theory": ("faq|start", "reduced_flow"),
    "run a sweep on slurm": ("sweeps", "sbatch"),
    "slurm": ("sweeps", "sbatch"),
    "diagnose a cnn": ("tutorial_diagnose|faq", "bf.diagnose"),
    "cnn": ("tutorial_diagnose|faq", "bf.diagnose"),
    "add a paper": ("add_a_paper", "pyproject.toml"),
    "my own paper": ("add_a_paper", "pyproject.toml"),
    "cite": ("citing", "@article"),
    "bibtex": ("citing", "@article"),
}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(SITE)))
def test_a_page(browser_page, path):
    """It fits a telephone; pictures, formulas, names, headings are there; text stands out, light and dark."""
    page = browser_page(*TELEPHONE)
    page.goto(path.as_uri())
    unfold(page)
    assert overflow(page) == 0
    assert levels_in_order(heading_levels(page))
    shown = pictures(page)
    assert [picture for picture in shown if not (picture["alt"] and picture["width"])] == []
    heights = page.evaluate(
        "[...document.querySelectorAll('math')].map(each => each.getBoundingClientRect().height)"
    )
    assert min(heights, default=1) > 0
    assert unnamed(page) == []
    told = introduction(page)
    assert told["language"] == "en"
    assert told["title"]
    assert "width=device-width" in told["viewport"]
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert faint(page) == [], scheme


@pytest.mark.parametrize("question", QUESTIONS)
def test_search_answers(browser_page, question, capsys):
    """One of the first three results is the page that answers, within a second or two."""
    page = browser_page(*DESKTOP)
    begun = time.monotonic()
    page.goto((SITE / "index.html").as_uri())
    page.get_by_role("textbox", name="Search").fill(question)
    page.keyboard.press("Enter")
    page.wait_for_function("document.querySelector('.search-summary')?.textContent.includes('found')")
    links = "[...document.querySelectorAll('#search-results li > a')].map(each => each.href)"
    took = time.monotonic() - begun
    found = [
        re.sub(r"\?[^#]*", "", unquote(link)).removeprefix(SITE.as_uri() + "/")
        for link in page.evaluate(links)
    ]
    pages, words = QUESTIONS[question]
    right = [place for place in found if re.fullmatch(rf"({pages})\.html(#.*)?", place)]
    assert right
    rank = found.index(right[0]) + 1
    with capsys.disabled():
        print(f"\n  {question!r}: {right[0]}, result {rank}, {took:.1f} s", end="")
    assert rank <= 3, found[:5]
    assert words in (SITE / right[0].partition("#")[0]).read_text()


def test_links_lead_somewhere():
    for page in PAGES:
        text = page.read_text()
        for target in re.findall(r'(?:href|src)="([^"]+)"', text):
            name, _, anchor = target.partition("#")
            if re.match(r"[a-z]+:", target) or name.startswith("data:"):
                continue
            file = (page.parent / unquote(name.partition("?")[0])).resolve() if name else page
            assert file.is_file(), (page.name, target)
            if anchor and file.suffix == ".html":
                assert re.search(rf'id="{re.escape(unquote(anchor))}"', file.read_text()), (page.name, target)


@pytest.mark.parametrize("name", TUTORIALS)
def test_a_tutorial_runs_in_jupyter(name, tmp_path):
    """Its page offers the notebook, which runs in an empty folder."""
    assert f'href="downloads/{name}.ipynb"' in (SITE / f"{name}.html").read_text()
    notebook = nbformat.read(SITE / "downloads" / f"{name}.ipynb", as_version=4)
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()


def test_the_site_is_small():
    assert sum(path.stat().st_size for path in SITE.rglob("*") if path.is_file()) < 15e6
