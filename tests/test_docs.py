"""What the documents show runs, exists and is up to date."""

import re
import runpy
from pathlib import Path

import pytest

import biasfree as bf
from biasfree.experiments import REGISTRY, experiment

ROOT = Path(__file__).parents[1]
TUTORIAL = ROOT / "docs" / "tutorial_diagnose.md"
PAGES = [
    ROOT / "README.md",
    TUTORIAL,
    ROOT / "docs" / "tutorial.md",
    ROOT / "docs" / "neighbours.md",
    *sorted((ROOT / "docs" / "theory").glob("*.md")),
]
RESULTS = [page for page in PAGES if page.parent.name == "theory" and page.stem != "README"]
NEIGHBOURS = [one.name for one in REGISTRY.values() if one.section == experiment.NEIGHBOURS]


def name(path):
    return path.stem if path.parent != ROOT else "top"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_python_in_a_page_runs(page, tmp_path, monkeypatch, capsys):
    """Every python block of a page, in order, in one namespace, in an empty folder."""
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    for needed in ("torch", "sklearn") if page == TUTORIAL else ():
        pytest.importorskip(needed)
    assert blocks, f"{page.name} shows no Python"
    monkeypatch.chdir(tmp_path)
    exec("\n".join(blocks), {})
    assert page.parent != ROOT or "Trajectory(" in capsys.readouterr().out


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_pictures_and_links_of_a_page(page):
    """No picture is missing or over 200 kB, and no link inside the project is broken."""
    text = page.read_text()
    pictures = re.findall(r"!\[[^]]*\]\((.*?)\)", text)
    assert all((page.parent / picture).stat().st_size <= 200_000 for picture in pictures)
    links = re.findall(r"(?<!!)\[[^]]*\]\(((?!http|#)[^)]+)\)", text)
    assert [link for link in links if not (page.parent / link.split("#")[0]).exists()] == []


@pytest.mark.parametrize("page", RESULTS, ids=name)
def test_a_page_of_a_result_has_its_parts(page):
    """Statement, why, assumptions, the call, a picture, and the script that draws it."""
    text = page.read_text()
    for part in ("**Statement.**", "**Why.**", "**Assumptions.**", "**The call.**"):
        assert part in text, f"{page.name} lacks {part}"
    assert f"../pictures/theory_{page.stem}.png" in text
    assert page.with_suffix(".py").exists()
    assert f"({page.name})" in (page.parent / "README.md").read_text(), "the index does not name it"


@pytest.mark.parametrize("name", NEIGHBOURS)
def test_a_neighbour_is_described(name):
    """What is proved, run, measured and outside the theorem; what is rebuilt is marked; the picture."""
    text = (ROOT / "docs" / "neighbours.md").read_text()
    found = re.search(rf"\n## [^\n]*\(`{name}`\)\n(.*?)(?=\n## |\Z)", text, re.DOTALL)
    assert found, f"neighbours.md has no section of {name}"
    for part in (
        "**What the paper proves.**",
        "**What we run",
        "**What we measured",
        "**Outside the theorem.**",
    ):
        assert part in found[1], f"the section of {name} lacks {part}"
    caption = re.search(rf"\(pictures/{name}\.png\)\n\n\*(.*?)\*\n\n", found[1], re.DOTALL)
    assert caption, f"the section of {name} lacks its picture and the caption below it"
    assert " ".join(caption[1].replace("\\*", "*").split()) == REGISTRY[name].caption
    assert not REGISTRY[name].rebuilt or "rebuilt" in found[1]


def test_equations_are_up_to_date():
    script = runpy.run_path(str(ROOT / "docs" / "equations.py"))
    assert (ROOT / "docs" / "equations.md").read_text() == script["table"](), "run `make equations`"


def test_equations_know_both_versions():
    numbers = runpy.run_path(str(ROOT / "docs" / "equations.py"))["numbers"]
    assert numbers("[ZSL25] Thm. 5 (TMLR 8) and Eq. 34; more") == ("Thm. 5, Eq. 34", "Thm. 8")
    assert numbers("[ZSL25] Eqs. 39 and 40 (TMLR Conjecture 11)") == ("Eq. 39, Eq. 40", "Conjecture 11")
    assert numbers("[ZSL25] TMLR Figs. 4 and 8; Boursier et al. (2022)") == ("", "Fig. 4, Fig. 8")
    assert numbers("Frei et al. (2022)") == ("", "")


def test_every_public_function_of_the_theory_cites_its_source_and_has_a_test():
    """But for the table of coverage, which is not a result."""
    script = runpy.run_path(str(ROOT / "docs" / "equations.py"))
    cited = {name for stage, name, _ in script["functions"]() if stage == "theory"}
    plain = {"AssumptionError", "Coverage", "coverage"}
    records = {n for n in bf.theory.__all__ if isinstance(getattr(bf.theory, n), type)}
    assert set(bf.theory.__all__) - cited - plain - records == set()
    assert [name for name in cited - records if script["tests"](name) == "–"] == []
