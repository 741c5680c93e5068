"""What the documents show runs, exists and is up to date."""

import inspect
import json
import re
import runpy
from pathlib import Path

import pytest

import biasfree as bf
from biasfree_papers import experiment
from biasfree_papers.registry import REGISTRY
from biasfree_papers.reproduction import make, write_report
from stubs import stub

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
NEIGHBORS = [one.name for one in REGISTRY.values() if one.section == experiment.NEIGHBORS]


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


def test_the_readme_names_what_is_not_reproduced():
    assert experiment.UNKNOWN in (ROOT / "README.md").read_text()


@pytest.mark.parametrize("page", RESULTS, ids=name)
def test_a_page_of_a_result_has_its_parts(page):
    """Statement, why, assumptions, the call, a picture, and the script that draws it."""
    text = page.read_text()
    for part in ("**Statement.**", "**Why.**", "**Assumptions.**", "**The call.**"):
        assert part in text, f"{page.name} lacks {part}"
    assert f"../pictures/theory_{page.stem}.png" in text
    assert page.with_suffix(".py").exists()
    assert f"({page.name})" in (page.parent / "README.md").read_text(), "the index does not name it"


@pytest.mark.parametrize("name", NEIGHBORS)
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


@pytest.fixture(scope="module")
def equations():
    """The script that writes the table, run once."""
    return runpy.run_path(str(ROOT / "docs" / "equations.py"))


def test_results_list_every_claim(monkeypatch, tmp_path):
    """All claims of a run are on the page and counted in the README; what is stale or lost is refused."""
    script = runpy.run_path(str(ROOT / "docs" / "results.py"))
    for figure in list(REGISTRY):
        monkeypatch.delitem(REGISTRY, figure)
    monkeypatch.setitem(REGISTRY, "fig3", stub(holds=False, title="a | b"))
    monkeypatch.setitem(REGISTRY, "fig9", stub("fig9", section=experiment.NEIGHBORS, rebuilt="all"))
    for one in REGISTRY.values():
        make(one, one.settle(), tmp_path, experiment.silent)
    write_report(tmp_path)
    with monkeypatch.context() as patch:
        patch.setitem(REGISTRY, "fig10", stub("fig10"))
        with pytest.raises(ValueError, match=r"lacks \['fig10'\]"):
            script["load"](tmp_path)
    records = script["load"](tmp_path)
    page = script["page"](records)
    assert (
        page.count("| ours, identity | a claim of ours | 0.1 | ≤ 0.01 | derived | **does not hold** |") == 1
    )
    assert page.count("| paper, rebuilt | a claim of theirs | 0.1 … 1 | ≤ 0.5 | chosen |") == 2
    assert "a \\| b" in page
    names = ("counts", "paper", "neighbours")
    blank = "\n".join(f"<!-- {name}: by make results -->before<!-- end of {name} -->" for name in names)
    text = script["readme"](blank, records)
    assert "before" not in text
    assert (
        "1 of 4 claims hold; of ours 1 of 2, 2 of which are identities. The bounds of 0 were chosen" in text
    )
    assert "| [fig9](docs/results.md#fig9) [rebuilt] |" in text
    assert script["readme"](text, records) == text
    spoilt = json.loads((tmp_path / "claims.json").read_text())
    spoilt[0]["fingerprint"] = "of other sources"
    (tmp_path / "claims.json").write_text(json.dumps(spoilt))
    with pytest.raises(ValueError, match=r"of others are \['fig3'\]"):
        script["load"](tmp_path)


def test_the_readme_counts_what_results_list():
    """One run wrote both: the same hash, every figure in both, and every claim of a figure in its table."""
    readme, results = ((ROOT / path).read_text() for path in ("README.md", "docs/results.md"))
    (one,), (other,) = (re.findall(r"have\s+the hash `(\w+)`", text) for text in (readme, results))
    assert one == other
    for figure in REGISTRY:
        row = re.search(rf"^\| \[{figure}\]\(docs/results.md#{figure.lower()}\).*$", readme, re.MULTILINE)
        section = re.search(rf"^## {figure}\n(.*?)(?=^## |\Z)", results, re.MULTILINE | re.DOTALL)
        assert row, figure
        assert section, figure
        counted = sum(int(n) for n in re.findall(r"\d+ of (\d+)", row[0].split("|", 3)[3]))
        assert counted == len(re.findall(r"^\| (?:ours|paper|observed)\b", section[1], re.MULTILINE)), figure


def test_equations_are_up_to_date(equations):
    assert (ROOT / "docs" / "equations.md").read_text() == equations["table"](), "run `make equations`"


def test_links_of_the_equations_lead_somewhere(equations):
    links = set(re.findall(r"\]\(([^)]+)\)", equations["table"]()))
    assert len(links) > 100
    for link in links:
        path, _, line = link.partition("#L")
        text = (ROOT / "docs" / path).read_text()
        assert not line or re.match(r"@|def |class ", text.splitlines()[int(line) - 1]), link


def test_a_word_is_not_a_use(equations):
    """Among the links by name that were false: "fifty digits", a loss that is a margin, a local variable."""
    users = {
        path.stem for path, objects in equations["test_users"]().items() if id_of("data.digits") in objects
    }
    assert users == {"test_data_handwritten", "test_data_transforms"} & users
    assert "test_data_handwritten" in users


def id_of(name):
    stage, function = name.split(".")
    return id(inspect.unwrap(getattr(getattr(bf, stage), function)))


@pytest.mark.parametrize(
    ("source", "uses"),
    [
        ("import biasfree as bf\ndef test_a(): bf.theory.aligned", True),
        ("import biasfree\ndef test_a(): biasfree.theory.aligned(1).weights", True),
        ("import biasfree.theory as T\ndef test_a(): T.aligned()", True),
        ("from biasfree import theory\ndef test_a(): theory.aligned()", True),
        ("from biasfree.theory import aligned as other\ndef test_a(): other()", True),
        ("from biasfree.theory.symmetric._aligned import aligned\ndef test_a(): aligned()", True),
        ("import biasfree as bf\nT = bf.theory\ndef test_a(): T.aligned()", True),
        ("import biasfree as bf\nT, x = bf.theory, 3\ndef test_a(): T.aligned()", True),
        ("import biasfree as bf\ndef test_a():\n    T = bf.theory\n    T.aligned()", True),
        ("import biasfree as bf\nALL = [bf.theory.aligned]\ndef test_a():\n    for f in ALL: f()", True),
        ("import biasfree as bf\n@mark(f=[bf.theory.aligned])\ndef test_a(f): f()", True),
        ("import biasfree as bf\ndef helper(): return bf.theory.aligned()\ndef test_a(): helper()", True),
        ("import biasfree as bf\ndef made(): return bf.theory.aligned()\ndef test_a(made): made", True),
        (
            "import biasfree as bf\nclass Case:\n    def run(self): bf.theory.aligned\ndef test_a(): Case()",
            True,
        ),
        ("import biasfree as bf\ndef test_a(): [bf.theory.aligned(n) for n in ()]", True),
        ('def test_a():\n    """Of aligned neurons."""', False),
        ("from biasfree.theory import aligned\ndef test_a(): pass", False),
        ("import biasfree as bf\ndef helper(): bf.theory.aligned()\ndef test_a(): pass", False),
        ("def test_a(net): net.theory.aligned()", False),
        ("from biasfree.theory import aligned\ndef test_a(aligned): aligned()", False),
        ("from biasfree.theory import aligned\ndef test_a():\n    aligned = 3\n    aligned", False),
        ("from biasfree.theory import aligned\ndef test_a(): [aligned for aligned in ()]", False),
        ("import biasfree as bf\ndef test_a(): bf.theory.aligned_modes()", False),
        ("import biasfree as bf\ndef test_a(bf): bf.theory.aligned()", False),
    ],
)
def test_uses_are_resolved_by_import(equations, source, uses):
    found = equations["used"](source, equations["is_test"])
    assert (id_of("theory.aligned") in equations["identities"](found)) is uses


def test_a_figure_uses_what_the_files_that_it_shares_use(equations):
    """`fig4` has no formula in its folder: it runs what experiments/points.py defines."""
    objects = {path.name: found for path, found in equations["figure_users"]().items()}
    assert id_of("data.xor") in objects["fig4"]
    assert id_of("theory.neighbors.circle_rates") not in objects["fig4"]


def test_equations_know_both_versions(equations):
    numbers = equations["numbers"]
    assert numbers("[ZSL25] Thm. 5 (TMLR 8) and Eq. 34; more") == ("Thm. 5, Eq. 34", "Thm. 8")
    assert numbers("[ZSL25] Eqs. 39 and 40 (TMLR Conjecture 11)") == ("Eq. 39, Eq. 40", "Conjecture 11")
    assert numbers("[ZSL25] TMLR Figs. 4 and 8; Boursier et al. (2022)") == ("", "Fig. 4, Fig. 8")
    assert numbers("Frei et al. (2022)") == ("", "")


def test_every_public_function_of_the_theory_cites_its_source_and_has_a_test(equations):
    """But for the table of coverage, which is not a result."""
    cited = {name for stage, name, _ in equations["functions"]() if stage == "theory"}
    plain = {"AssumptionError", "Coverage", "coverage"}
    records = {n for n in bf.theory.__all__ if isinstance(getattr(bf.theory, n), type)}
    assert set(bf.theory.__all__) - cited - plain - records == set()
    assert [name for name in cited - records if equations["tests"](f"biasfree.theory.{name}") == "–"] == []
