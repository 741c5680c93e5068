"""The built site in a browser: `make docs-check` runs these tests on out/site, opened from the disk.

`QUESTIONS` are those of a first reader: each leads, by the site's own search, to a page that answers it.
"""

import os
import re
from pathlib import Path
from urllib.parse import unquote

import nbformat
import pytest
from nbclient import NotebookClient

from browsing import faint, heading_levels, levels_in_order, overflow, pictures

SITE = Path(os.environ["BIASFREE_SITE"]).resolve()
PAGES = sorted(path for path in SITE.rglob("*.html") if path.name not in ("genindex.html", "search.html"))
TELEPHONE, DESKTOP = (390, 844), (1280, 800)
QUESTIONS = {
    "gradient_flow": "gradient_flow",
    "neuron directions": "directions",
    "compare theory simulation": "reduced_flow",
    "sweep slurm": "sbatch",
    "diagnose cnn": "diagnose",
    "add a paper": "pyproject.toml",
    "cite": "@article",
}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(SITE)))
def test_a_page(browser_page, page):
    """On a telephone it does not scroll sideways, its pictures load, its formulas have a height."""
    opened = browser_page(*TELEPHONE)
    opened.goto(page.as_uri())
    assert overflow(opened) == 0
    assert levels_in_order(heading_levels(opened))
    shown = pictures(opened)
    assert [picture for picture in shown if not (picture["alt"] and picture["width"])] == []
    heights = opened.evaluate(
        "[...document.querySelectorAll('math')].map(each => each.getBoundingClientRect().height)"
    )
    assert min(heights, default=1) > 0


@pytest.mark.parametrize("name", ["index", "theory/white_flow", "reference/biasfree.theory", "faq"])
def test_text_stands_out_in_light_and_dark(browser_page, name):
    page = browser_page(*DESKTOP)
    page.goto((SITE / f"{name}.html").as_uri())
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert faint(page) == [], scheme


@pytest.mark.parametrize("question", QUESTIONS)
def test_search_answers(browser_page, question):
    """A page that one of the first five results leads to has the answer."""
    page = browser_page(*DESKTOP)
    page.goto((SITE / "search.html").as_uri() + f"?q={question.replace(' ', '+')}")
    page.wait_for_selector("#search-results li a", timeout=10_000)
    found = page.evaluate(
        "[...document.querySelectorAll('#search-results li > a')].slice(0, 5).map(each => each.href)"
    )
    texts = [Path(unquote(re.sub(r"^file://|[?#].*", "", link))).read_text() for link in found]
    assert any(QUESTIONS[question] in text for text in texts), found


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


@pytest.mark.parametrize("path", sorted((SITE / "downloads").glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_download_runs_in_jupyter(path, tmp_path):
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()


@pytest.mark.parametrize("path", sorted((SITE / "downloads").glob("*.py")), ids=lambda path: path.stem)
def test_a_script_is_python(path):
    compile(path.read_text(), path.name, "exec")


def test_the_site_is_small():
    assert sum(path.stat().st_size for path in SITE.rglob("*") if path.is_file()) < 15e6
