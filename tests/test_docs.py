"""The documents: their code runs, their links lead somewhere, their tables are up to date."""

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

import biasfree as bf
import equations
import results
from biasfree_papers import experiment
from biasfree_papers.registry import REGISTRY
from biasfree_papers.reproduction import make, write_report
from biasfree_papers.reproduction.fingerprint import figure_fingerprint
from biasfree_papers.reproduction.storage import load_numbers, save_numbers
from refusals import invalid
from stubs import stub

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
#: Pages with Python, and others.
NAMES = ("tutorial_diagnose", "denoiser", "tutorial", "guide", "sweeps", "neighbors")
PAGES = [ROOT / "README.md", *(DOCS / f"{page}.md" for page in NAMES), *sorted(DOCS.glob("theory/*.md"))]
INDOORS = [
    *(ROOT / name for name in ("ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *(DOCS / name for name in ("notation.md", "gallery.md")),
    *(path for folder in ("src", "papers", "benchmarks") for path in sorted((ROOT / folder).rglob("*.md"))),
]
NEIGHBORS = [one.name for one in REGISTRY.values() if one.section != experiment.PAPER]


def name(path):
    return path.stem if path.parent != ROOT else "top"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_python_in_a_page_runs(page, tmp_path, monkeypatch, capsys):
    """Every python block of a page, in order, in one namespace, in an empty folder; and prints its output."""
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    assert blocks, f"{page.name} shows no Python"
    for needed in ("torch", "sklearn"):
        if any(re.search(rf"^(import|from) {needed}\b", block, re.MULTILINE) for block in blocks):
            pytest.importorskip(needed)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SLURM_CPUS_PER_TASK", "1")  # one process per sweep: each imports the package anew
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


def test_drawings_are_small_and_shown():
    """Each is valid, has its words as text, and a document shows it."""
    shown = "".join(page.read_text() for page in [*PAGES, *INDOORS])
    for path in (DOCS / "pictures").glob("*.svg"):
        text = path.read_text()
        assert len(text) <= 40_000
        assert ElementTree.fromstring(text).findall("{http://www.w3.org/2000/svg}text")
        assert f"pictures/{path.name}" in shown


def test_every_neighboring_paper_has_a_place_for_its_results():
    text = (DOCS / "neighbors.md").read_text()
    assert [name for name in NEIGHBORS if text.count(f"<!-- results of {name} -->") != 1] == []


def walk(call):
    """The files of a walk, in their order."""
    pages = ("ARCHITECTURE.md", "src/biasfree/dynamics/README.md")
    text = "".join((ROOT / page).read_text() for page in pages)
    block = re.search(rf"^`{re.escape(call)}.*?^```\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert block, f"no page has a walk of {call}"
    return re.findall(r"^ *\d+ (\S+\.py) ", block[1], re.MULTILINE)


def test_the_walk_of_a_figure_names_files():
    found = walk("biasfree run fig6")
    places = (ROOT / "src" / "biasfree", ROOT / "papers" / "src" / "biasfree_papers")
    assert len(found) > 10
    assert [file for file in found if not any((place / file).is_file() for place in places)] == []


WALKS = (
    "bf.gradient_flow(network, data, ts)",
    "bf.gradient_flow(deep, data, ts)",
    "bf.diagnose(model, data)",
)


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
    deep = bf.networks.gaussian((2, 8, 8, 1), scale=0.3, seed=0)
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


def test_results_of_a_figure_have_its_caption_tables_and_claims():
    """`reported` writes them in place of a comment of the page, and nothing else."""
    one = stub(section="others")
    claims = [claim.record() for claim in one.claims(one.compute(one.settle(), experiment.silent))]
    told = {"title": "rates", "columns": ["γ", "rate"], "rows": [[0.1, 1 / 3], [0.01, None]]}
    record = {"figure": one.name, "title": "a", "caption": "of w*", "tables": [told], "claims": claims}
    page = results.reported(f"before\n\n<!-- results of {one.name} -->\n\nafter\n", [record])
    assert page.startswith("before\n\n*of w\\**\n\nRates:\n\n")
    for part in ("| 0.1 | 0.333 |", "| 0.01 | – |"):
        assert part in page
    assert page.endswith(f"{results.claims(record)}\n\nafter\n")
    assert results.reported("no comment", [record]) == "no comment"


def test_the_readme_has_the_verdict_of_every_figure():
    """Names always; verdicts where `make paper` has left out/claims.json; and by `make results`."""
    text, made = (ROOT / "README.md").read_text(), ROOT / "out" / "claims.json"
    assert list(results.verdicts(text)) == list(REGISTRY)
    assert set(results.verdicts(text).values()) <= {"holds", "in part", "fails"}
    if made.exists():
        assert results.disagreements(text, json.loads(made.read_text())) == []


def test_a_wrong_verdict_of_the_readme_is_seen():
    """Of a figure one of whose claims fails, of one that is missing, and of one that there is not."""
    claims = [
        {"verdict": "holds", "held": [True]},
        {"verdict": "holds for 2 of 5 seeds", "held": [True, False]},
    ]
    records: list[results.Record] = [
        {"figure": "a", "claims": claims},
        {"figure": "b", "claims": claims[:1]},
    ]
    right = "| `a` | x | in part: y |\n| `b` | x | holds |\n"
    assert results.disagreements(right, records) == []
    for wrong in (right.replace("in part", "holds"), right[:26], right + "| `c` | x | fails |\n"):
        assert len(results.disagreements(wrong, records)) == 1


def test_results_list_every_claim(monkeypatch, tmp_path):
    """All claims of a run are on the page and counted; stale, missing and changed figures are refused."""
    stubs = [stub(holds=False, title="a | b"), stub("fig9", section="others", rebuilt="all")]
    monkeypatch.setattr(REGISTRY, "_found", {one.name: one for one in stubs})
    for one in REGISTRY.values():
        make(one, one.settle(), tmp_path, experiment.silent)
    write_report(tmp_path)
    with monkeypatch.context() as patch:
        patch.setitem(REGISTRY, "fig10", stub("fig10"))
        invalid(r"Missing: \['fig10'\]", results.load, tmp_path)
    page = results.page(results.load(tmp_path))
    assert (
        page.count("| ours, identity | a claim of ours | 0.1 | ≤ 0.01 | derived | **does not hold** |") == 1
    )
    assert page.count("| paper, rebuilt | a claim of theirs | 0.1 … 1 | ≤ 0.5 | chosen |") == 2
    assert "a \\| b" in page
    assert "1 of 4 claims hold; of ours 1 of 2: 1 of 2 identities. The bounds of 0 claims" in page
    assert "| [fig9](#fig9) [rebuilt] |" in page
    assert experiment.UNKNOWN in page
    assert f"the hash `{results.digest()}`" in page
    made = json.loads((tmp_path / "claims.json").read_text())
    changed = figure_fingerprint(REGISTRY["fig3"], REGISTRY["fig3"].settle({"width": 7}))
    for other in ("of other sources", changed):
        (tmp_path / "claims.json").write_text(json.dumps([{**made[0], "fingerprint": other}, made[1]]))
        invalid(r"Made otherwise: \['fig3'\]", results.load, tmp_path)
    (tmp_path / "claims.json").write_text(json.dumps(made))
    results.load(tmp_path)
    numbers, origin = load_numbers(tmp_path / "fig9")
    save_numbers(tmp_path / "fig9", numbers, replace(origin, fingerprint="of other sources"))
    invalid(r"Made otherwise: \['fig9'\]", results.load, tmp_path)


def test_links_of_the_equations_lead_somewhere():
    links = set(re.findall(r"\]\(([^)]+)\)", equations.table()))
    assert len(links) > 100
    for link in links:
        path, _, line = link.partition("#L")
        text = (DOCS / path).read_text()
        assert not line or re.match(r"@|def |class ", text.splitlines()[int(line) - 1]), link


def test_equations_lead_to_tests_figures_and_pages():
    """By the room and the name; `fig4` has no formula in its folder, and runs what shared/xor defines."""
    digits = equations.users("biasfree.data.digits", equations.test_texts())
    assert [path.stem for path in digits] == ["test_data_loading"]
    figures = equations.figure_texts()
    assert "fig4" in [path.name for path in equations.users("biasfree.data.xor", figures)]
    gap = equations.users("biasfree.theory.two_layer_gap", figures)
    assert "basri2019" in [path.name for path in gap]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("bf.theory.aligned(1).weights", True),
        ("T = bf.theory\nT.aligned()", True),
        ("from biasfree import theory as T\nT.aligned()", True),
        ("T.aligned()", False),
        ("from biasfree.theory import other, aligned", True),
        ("from biasfree.theory import (\n    aligned,\n)", True),
        ("neurons that are aligned", False),
        ("net.aligned()", False),
        ("bf.theory.aligned_modes()", False),
    ],
)
def test_a_word_is_not_a_use(text, named):
    assert (equations.users("biasfree.theory.aligned", {ROOT: text}) == [ROOT]) is named


def test_every_public_function_of_the_theory_cites_its_source_and_has_a_test():
    """But for the table of coverage, which is not a result."""
    names = bf.theory.__all__
    cited = {name for where, name, _ in equations.functions() if where == "theory"}
    plain = {"AssumptionError", "Coverage", "coverage"}
    records = {name for name in names if isinstance(getattr(bf.theory, name), type)}
    assert set(names) - cited - plain - records == set()
    assert [n for n in cited - records if equations.tests(f"biasfree.theory.{n}", ROOT) == "–"] == []
