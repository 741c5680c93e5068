"""The documents: their code runs, their links lead somewhere, their tables are up to date."""

import inspect
import json
import re
import runpy
import subprocess
import sys
from dataclasses import replace
from operator import attrgetter
from pathlib import Path
from xml.etree import ElementTree

import pytest

import biasfree as bf
import biasfree_papers
from biasfree_papers import experiment
from biasfree_papers.registry import REGISTRY
from biasfree_papers.reproduction import make, write_report
from biasfree_papers.reproduction.fingerprint import figure_fingerprint
from biasfree_papers.reproduction.storage import load_numbers, save_numbers
from stubs import stub

ROOT = Path(__file__).parents[1]
TUTORIAL = ROOT / "docs" / "tutorial_diagnose.md"
DENOISER = ROOT / "docs" / "denoiser.md"
PAGES = [
    ROOT / "README.md",
    TUTORIAL,
    DENOISER,
    ROOT / "docs" / "tutorial.md",
    ROOT / "docs" / "guide.md",
    ROOT / "docs" / "sweeps.md",
    ROOT / "docs" / "neighbors.md",
    *sorted((ROOT / "docs" / "theory").glob("*.md")),
]
INDOORS = [
    ROOT / "docs" / "notation.md",
    *(ROOT / name for name in ("ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/results.md")),
    ROOT / "docs" / "gallery.md",
    *(path for folder in ("src", "papers", "benchmarks") for path in sorted((ROOT / folder).rglob("*.md"))),
]
RESULTS = [page for page in PAGES if page.parent.name == "theory" and page.stem != "README"]
NEIGHBORS = [one.name for one in REGISTRY.values() if one.section != experiment.PAPER]


def name(path):
    return path.stem if path.parent != ROOT else "top"


#: Pages whose Python takes long; `make docs` runs it too.
LONG = ("tutorial_diagnose",)


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=pytest.mark.slow if name(page) in LONG else ()) for page in PAGES],
    ids=name,
)
def test_python_in_a_page_runs(page, tmp_path, monkeypatch, capsys):
    """Every python block of a page, in order, in one namespace, in an empty folder; and prints its output."""
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    for needed in ("torch", "sklearn") if page in (TUTORIAL, DENOISER) else ():
        pytest.importorskip(needed)
    assert blocks, f"{page.name} shows no Python"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SLURM_CPUS_PER_TASK", "1")  # one process per sweep: each imports the package anew
    if any("import torch" in block for block in blocks):
        pytest.importorskip("torch")
    (tmp_path / "page.py").write_text("\n".join(blocks))  # a sweep reads the text of its function
    exec(compile("\n".join(blocks), str(tmp_path / "page.py"), "exec"), {})
    shown = re.findall(r"```output\n(.*?)```", page.read_text(), re.DOTALL)
    assert not shown or "".join(shown) == capsys.readouterr().out


@pytest.mark.parametrize("page", [*PAGES, *INDOORS], ids=lambda page: str(page.relative_to(ROOT)))
def test_pictures_and_links_of_a_page(page):
    """No picture is missing or over 200 kB, and no link inside the project is broken."""
    text = page.read_text()
    pictures = re.findall(r"!\[[^]]*\]\((.*?)\)", text)
    assert all((page.parent / picture).stat().st_size <= 200_000 for picture in pictures)
    links = re.findall(r"(?<!!)\[[^]]*\]\(((?!http|#)[^)]+)\)", text)
    assert [link for link in links if not (page.parent / link.split("#")[0]).exists()] == []


def test_the_readme_names_what_is_not_reproduced():
    assert experiment.UNKNOWN in (ROOT / "README.md").read_text()


def test_documents_name_the_version():
    """The newest entry of the changelog, the citation and both packages."""
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    cited = re.search(r"^version: (\S+)", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert newest
    assert cited
    assert {newest[1], cited[1], biasfree_papers.__version__} == {bf.__version__}


@pytest.mark.parametrize("page", RESULTS, ids=name)
def test_a_page_of_a_result_has_its_parts(page):
    """Statement, why, assumptions, the call, a picture, and the script that draws it."""
    text = page.read_text()
    for part in ("**Statement.**", "**Why.**", "**Assumptions.**", "**The call.**", "\nReference: "):
        assert part in text, f"{page.name} lacks {part}"
    assert f"../pictures/theory_{page.stem}.png" in text
    assert page.with_suffix(".py").exists()
    assert f"({page.name})" in (page.parent / "README.md").read_text(), "the index does not name it"


@pytest.mark.parametrize("page", RESULTS, ids=name)
def test_a_page_of_a_result_opens_with_its_question(page):
    """In at most three sentences of plain words; then come the setting, formulas, and what is refused."""
    text = page.read_text()
    title, opening = text.split("\n\n")[:2]
    assert title.startswith("# ")
    assert re.match(r"[^?$`*]+\?", opening), "the first paragraph asks nothing, or in symbols"
    assert len(re.findall(r"[.?](?:\s|$)", opening)) <= 3, "the first paragraph is more than the question"
    for part in ("**Setting.**", "**What is refused.**"):
        assert part in text, f"{page.name} lacks {part}"
    assert re.search(r"^\$\$ .+ \$\$$", text, re.MULTILINE), "no formula has its own line"


@pytest.fixture(scope="module")
def drawings():
    """The script that writes the vector drawings, run once."""
    return runpy.run_path(str(ROOT / "docs" / "drawings.py"))


def test_drawings_are_up_to_date(drawings):
    """Each file is what the script writes: small, valid, with its words as text; and a document shows it."""
    shown = "".join(page.read_text() for page in [*PAGES, *INDOORS])
    for stem, draw in drawings["DRAWINGS"].items():
        text = (ROOT / "docs" / "pictures" / f"{stem}.svg").read_text()
        assert text == draw().svg(), f"{stem}.svg is stale: run `make drawings`"
        assert len(text) <= 40_000
        assert ElementTree.fromstring(text).findall("{http://www.w3.org/2000/svg}text")
        assert f"pictures/{stem}.svg" in shown
    assert {path.stem for path in (ROOT / "docs" / "pictures").glob("*.svg")} == set(drawings["DRAWINGS"])


@pytest.mark.parametrize("name", NEIGHBORS)
def test_a_neighboring_paper_is_described(name):
    """What is proved, run, measured and outside the theorem; what is rebuilt is marked; the picture."""
    text = (ROOT / "docs" / "neighbors.md").read_text()
    found = re.search(rf"\n## [^\n]*\(`{name}`\)\n(.*?)(?=\n## |\Z)", text, re.DOTALL)
    assert found, f"neighbors.md has no section of {name}"
    for part in (
        "**What the paper proves.**",
        "**What we run",
        "**What we measured",
        "**Outside the theorem.**",
    ):
        assert part in found[1], f"the section of {name} lacks {part}"
    assert f"<!-- {name}: by make results -->" in found[1], f"the section of {name} lacks its picture"
    assert not REGISTRY[name].rebuilt or "rebuilt" in found[1]


def walk(call):
    """The files of a walk in ARCHITECTURE.md, in their order."""
    text = (ROOT / "ARCHITECTURE.md").read_text()
    block = re.search(rf"^`{re.escape(call)}.*?^```\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert block, f"ARCHITECTURE.md has no walk of {call}"
    return re.findall(r"^ *\d+ (\S+\.py) ", block[1], re.MULTILINE)


def test_the_walk_of_a_figure_names_files():
    found = walk("biasfree run fig6")
    places = (ROOT / "src" / "biasfree", ROOT / "papers" / "src" / "biasfree_papers")
    assert len(found) > 10
    assert [file for file in found if not any((place / file).is_file() for place in places)] == []


WALKS = ("bf.gradient_flow(network, data, ts)", "bf.diagnose(model, data)")


@pytest.fixture(scope="module")
def entered():
    """The files that each call of a walk enters, in their order, in a process of their own."""
    code = f"""
import sys
import biasfree as bf
bf.gradient_flow, bf.diagnose(bf.networks.gaussian((2, 8, 1), scale=0.3, seed=0))  # imports come first
def follow(frame, event, _):
    if event == "call" and frame.f_code.co_filename not in entered:
        entered.append(frame.f_code.co_filename)
for call in {WALKS!r}:
    data, ts, entered = bf.data.six_points(0.15), [0, 5, 20, 60], []
    network, model = (bf.networks.gaussian((2, 8, 1), scale=0.3, seed=seed) for seed in (0, 1))
    sys.setprofile(follow)
    eval(call)
    sys.setprofile(None)
    print(*entered, sep="\\t")
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    place = str(Path(bf.__file__).parent) + "/"
    lines = run.stdout.splitlines()
    return {
        call: [file.removeprefix(place) for file in line.split("\t")]
        for call, line in zip(WALKS, lines, strict=True)
    }


@pytest.mark.parametrize("call", WALKS)
def test_walks_follow_the_calls(call, entered):
    """Every file of the walk is entered, and first entered after the one above it."""
    expected = walk(call)
    assert [file for file in expected if file not in entered[call]] == []
    assert [file for file in entered[call] if file in expected] == expected


@pytest.fixture(scope="module")
def results():
    """The script that writes results.md, run once."""
    return runpy.run_path(str(ROOT / "docs" / "results.py"))


def sealed(results, text):
    """The neighboring papers whose results on the page are as `make results` wrote them from the sources."""
    found = []
    for name in NEIGHBORS:
        part = re.search(rf"<!-- {name}: by make results -->\n(.*?)<!-- end", text, re.DOTALL)
        shown, _, last = part[1].strip().rpartition("\n\n") if part else ("", "", "")
        found += [name] if last == f"<!-- {results['seal'](name, shown)} -->" else []
    return found


def test_results_of_the_neighboring_papers_are_up_to_date(results):
    """Pictures, captions, tables and claims carry the hash of themselves and of the sources."""
    text = (ROOT / "docs" / "neighbors.md").read_text()
    assert sealed(results, text) == NEIGHBORS, "docs/neighbors.md is stale or edited: run `make results`"
    changed = re.search(r"(?s)<!-- kou2023: by.*?\| (1\.\d+) \|", text)
    assert changed
    spoiled = text[: changed.start(1)] + "9" + text[changed.end(1) :]
    assert sealed(results, spoiled) == [name for name in NEIGHBORS if name != "kou2023"]


def test_results_of_a_figure_have_its_picture_tables_and_claims(results, monkeypatch):
    """`reported` writes them between the markers of a page, under their hash, and nothing else."""
    one = stub(section="others")
    monkeypatch.setattr(REGISTRY, "_found", {one.name: one})
    claims = [claim.record() for claim in one.claims(one.compute(one.settle(), experiment.silent))]
    told = {"title": "rates", "columns": ["γ", "rate"], "rows": [[0.1, 1 / 3], [0.01, None]]}
    record = {"figure": one.name, "title": "a", "caption": "of w*", "tables": [told], "claims": claims}
    empty = f"before\n\n<!-- {one.name}: by make results -->\n<!-- end of {one.name} -->\n\nafter\n"
    page = results["reported"](empty, [record])
    assert page.startswith("before\n\n<!--")
    assert page.endswith("-->\n\nafter\n")
    for part in (f"![a](pictures/{one.name}.png)", "*of w\\**", "Rates:", "| 0.1 | 0.333 |", "| 0.01 | – |"):
        assert part in page
    assert results["claims"](record) in page
    assert results["reported"](page, [record]) == page
    assert results["reported"]("no markers", [record]) == "no markers"


def test_results_are_up_to_date(results):
    """The page names the hash of the sources and settings that its verdicts come from."""
    page = (ROOT / "docs" / "results.md").read_text()
    assert f"the hash `{results['digest']()}`" in page, "docs/results.md is stale: run `make results`"


@pytest.fixture(scope="module")
def equations():
    """The script that writes the table, run once."""
    return runpy.run_path(str(ROOT / "docs" / "equations.py"))


def test_results_list_every_claim(results, monkeypatch, tmp_path):
    """All claims of a run are on the page and counted; stale, missing and changed figures are refused."""
    stubs = [stub(holds=False, title="a | b"), stub("fig9", section="others", rebuilt="all")]
    monkeypatch.setattr(REGISTRY, "_found", {one.name: one for one in stubs})
    for one in REGISTRY.values():
        make(one, one.settle(), tmp_path, experiment.silent)
    write_report(tmp_path)
    with monkeypatch.context() as patch:
        patch.setitem(REGISTRY, "fig10", stub("fig10"))
        with pytest.raises(ValueError, match=r"Missing: \['fig10'\]"):
            results["load"](tmp_path)
    page = results["page"](results["load"](tmp_path))
    assert (
        page.count("| ours, identity | a claim of ours | 0.1 | ≤ 0.01 | derived | **does not hold** |") == 1
    )
    assert page.count("| paper, rebuilt | a claim of theirs | 0.1 … 1 | ≤ 0.5 | chosen |") == 2
    assert "a \\| b" in page
    assert "1 of 4 claims hold; of ours 1 of 2, 2 of which are identities. The bounds of 0 claims" in page
    assert "| [fig9](#fig9) [rebuilt] |" in page
    assert experiment.UNKNOWN in page
    assert f"the hash `{results['digest']()}`" in page
    made = json.loads((tmp_path / "claims.json").read_text())
    changed = figure_fingerprint(REGISTRY["fig3"], REGISTRY["fig3"].settle({"width": 7}))
    for other in ("of other sources", changed):
        (tmp_path / "claims.json").write_text(json.dumps([{**made[0], "fingerprint": other}, made[1]]))
        with pytest.raises(ValueError, match=r"Made otherwise: \['fig3'\]"):
            results["load"](tmp_path)
    (tmp_path / "claims.json").write_text(json.dumps(made))
    results["load"](tmp_path)
    numbers, origin = load_numbers(tmp_path / "fig9")
    save_numbers(tmp_path / "fig9", numbers, replace(origin, fingerprint="of other sources"))
    with pytest.raises(ValueError, match=r"Made otherwise: \['fig9'\]"):
        results["load"](tmp_path)


def test_results_count_what_they_list():
    """Every figure has a row in a summary, and every claim that the row counts is in the figure's table."""
    page = (ROOT / "docs" / "results.md").read_text()
    for figure in REGISTRY:
        row = re.search(rf"^\| \[{figure}\]\(#{figure.lower()}\).*$", page, re.MULTILINE)
        section = re.search(rf"^## {figure}\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
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
    assert users == {"test_data_digits", "test_data_transforms"} & users
    assert "test_data_digits" in users


def id_of(name):
    return id(inspect.unwrap(attrgetter(name)(bf)))


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
    """`fig4` has no formula in its folder: it runs what shared/xor defines."""
    objects = {path.name: found for path, found in equations["figure_users"]().items()}
    assert id_of("data.xor") in objects["fig4"]
    assert id_of("theory.neighbors.circle_rates") not in objects["fig4"]


def test_names_in_a_text_are_found_in_full(equations):
    found = equations["NAMED"].findall("`bf.theory.aligned`, bf.theory.neighbors.loss_floor")
    assert found == ["theory.aligned", "theory.neighbors.loss_floor"]


def test_equations_know_both_versions(equations):
    numbers = equations["numbers"]
    assert numbers("[ZSL25] Thm. 5 (TMLR 8) and Eq. 34; more") == ("Thm. 5, Eq. 34", "Thm. 8")
    assert numbers("[ZSL25] Eqs. 39 and 40 (TMLR Conjecture 11)") == ("Eq. 39, Eq. 40", "Conjecture 11")
    assert numbers("[ZSL25] TMLR Figs. 4 and 8; Boursier et al. (2022)") == ("", "Fig. 4, Fig. 8")
    assert numbers("Frei et al. (2022)") == ("", "")


@pytest.mark.parametrize("stage", ["theory", "theory.neighbors"])
def test_every_public_function_of_the_theory_cites_its_source_and_has_a_test(equations, stage):
    """But for the table of coverage, which is not a result."""
    names = attrgetter(stage)(bf).__all__
    cited = {name for where, name, _ in equations["functions"]() if where == stage}
    plain = {"AssumptionError", "Coverage", "coverage", "neighbors"}
    records = {name for name in names if isinstance(attrgetter(f"{stage}.{name}")(bf), type)}
    assert set(names) - cited - plain - records == set()
    untested = [name for name in cited - records if equations["tests"](f"biasfree.{stage}.{name}") == "–"]
    assert untested == []
