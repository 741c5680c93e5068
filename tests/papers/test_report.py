"""The page shows every finished figure with all it needs, headlines first, and fetches nothing."""

import json
import re
from typing import Any

import pytest

from biasfree.pages import Markup, cells, folded, grid, image, joined, page, tag
from biasfree_papers.experiment import NEIGHBORS, PAPER, UNKNOWN, silent
from biasfree_papers.registry import REGISTRY
from biasfree_papers.reproduction import make, write_report
from biasfree_papers.reproduction.report import count, headlines, limit, measured, spread, whole_page
from stubs import stub


@pytest.fixture
def records(monkeypatch, tmp_path):
    """The records of two of three figures, reported."""
    rebuilt = {"rebuilt": "the labels <are> ours", "deviations": ("flow, not descent",)}
    title = "a < b (Somebody 1900)"
    stubs = [
        stub(holds=False, title=title, caption="how to read it"),
        stub("fig9", section=NEIGHBORS, **rebuilt),
        stub("fig10"),
    ]
    monkeypatch.setattr(REGISTRY, "_found", {one.name: one for one in stubs})
    for name in ("fig3", "fig9"):
        make(REGISTRY[name], REGISTRY[name].settle({"width": 7}), tmp_path, silent)
    records = write_report(tmp_path)
    assert [record["figure"] for record in records] == ["fig3", "fig9"]
    assert json.loads((tmp_path / "claims.json").read_text()) == records
    return records


@pytest.fixture
def report(records, tmp_path):  # noqa: ARG001 - which writes it
    return (tmp_path / "report.html").read_text()


def section(report, name):
    (found,) = re.findall(rf"<section id='{name}'.*?</section>", report, re.DOTALL)
    return found


def test_it_shows_everything(report):
    for shown in (
        "a &lt; b", "how to read it", "a claim of ours", "does not hold", "holds for 1 of 2 seeds", "luck",
        "the labels &lt;are&gt; ours", "flow, not descent", "the stub&#x27;s table", "nan", "numpy",
        "a number of neurons, 2 or more", "Not made yet: fig10.", UNKNOWN, "no odd functions but linear ones",
    ):  # fmt: skip
        assert shown in report, shown
    assert len(report) < 50_000


def test_the_main_figures_come_first_and_neighbors_last(report):
    order = [report.index(part) for part in (
        "<h2>The main figures</h2>", "<h3>fig3: a &lt; b</h3>", "<nav ", f"<h2>{PAPER}</h2>",
        "<section id='fig3'", f"<h2>{NEIGHBORS}</h2>", "<section id='fig9'",
    )]  # fmt: skip
    assert order == sorted(order)
    assert report.count("class='card'") == 1  # fig9 is none of the main figures


def test_figures_of_other_packages_have_parts_of_their_own(records, tmp_path):
    report = whole_page(tmp_path, [{**records[0], "section": "Halves <"}, records[1]])
    assert report.index(f"<h2>{NEIGHBORS}</h2>") < report.index("<h2>Halves &lt;</h2><section id='fig3'")


def test_a_claim_about_data_alone_names_no_seeds(records, tmp_path):
    claims = [{**claim, "number of seeds": 0} for claim in records[0]["claims"]]
    shown = section(whole_page(tmp_path, [{**records[0], "claims": claims}]), "fig3")
    assert "a bound (derived).</p>" in shown


def test_pictures_are_files_beside_the_page_and_keep_their_place(report, tmp_path):
    addresses = re.findall(r"<img src='([^']*)' alt='[^']+' width='200' height='200'", report)
    assert addresses == ["fig3/fig3.png", "fig3/fig3.png", "fig9/fig9.png"]  # a card, and two sections
    linked = re.findall(r"(?:src|href)='(?!#|https://arxiv)([^']*)", report)
    assert {path for path in linked if not (tmp_path / path).is_file()} == set()
    assert "<script" not in report


def test_claims_are_folded_below_headlines_and_open_where_they_fail(report):
    """The stub has an identity of ours, which is no headline, and a claim of a paper that fails in part."""
    for name, ours in (("fig3", "<details open='open' class='claim'>"), ("fig9", "<details class='claim'>")):
        text = section(report, name)
        first, other = text.index("a claim of theirs"), text.index("a claim of ours")
        assert first < text.index("1 other claim, of which") < other
        assert text[:other].count("<details open='open' class='claim'>") == 1 + (name == "fig3")
        assert ours in text[first:other]
        assert "<details><summary>Table: the stub&#x27;s table" in text
        assert "<details><summary>Settings" in text


def test_a_claim_of_ours_that_fails_is_listed_first_and_unfolded(report):
    listed = report[report.index("3 claims do not hold in every run, 1 of them ours") :]
    assert listed.index("a claim of ours") < listed.index("a claim of theirs")
    assert (
        "<p><b>1 of 2 claims of ours hold</b>: 1 of 2 identities. 0 of 2 claims of papers hold. Not made yet"
        in report
    )


def test_marks_changed_settings_and_bases_are_shown(report):
    assert report.count("<td><b>7 (changed)</b></td>") == report.count("(changed)") == 2
    for mark in ("identity", "paper", "ours", "rebuilt"):
        assert f"<span class='badge'>{mark}</span>" in section(report, "fig9")
    assert section(report, "fig3").count("Bound: a bound (derived). 1 seed.") == 1
    assert section(report, "fig3").count("Bound: the caption (chosen). 2 seeds.") == 1
    assert "measured: 0.1, at most 0.01" in section(report, "fig3")


def test_headlines_are_those_that_a_figure_names():
    ours, identity, paper, seen = (
        {"kind": kind, "nature": name if name == "identity" else "theorem", "name": name}
        for kind, name in (("ours", "a"), ("ours", "identity"), ("paper", "p"), ("observed", "o"))
    )
    named = {**seen, "headline": True}

    def chosen(*claims):
        return [claim["name"] for claim in headlines({"claims": claims})]

    assert chosen(paper, named, ours) == ["o"]
    assert chosen(paper, ours, identity, ours, ours, paper) == ["a", "a", "p"]
    assert chosen(identity, seen) == ["identity"]
    assert chosen() == []


def test_quantities_are_named_where_the_record_names_them():
    claim = {"measured": [2, 1], "bound": [3], "sense": "at least"}
    assert (measured(claim), limit(claim)) == ("measured: 1 … 2", "at least 3")
    assert measured({**claim, "quantity": "largest gap"}) == "largest gap: 1 … 2"
    assert count([]) == "–"


def test_whatever_a_record_says_is_escaped(records, tmp_path):
    """Every text and every number in it but those that decide how it is shown."""
    deciding = {"figure", "section", "kind", "sense", "held", "measured", "bound", "seconds"}

    def hostile(value: Any, name: str = "") -> Any:
        if name in deciding:
            return value
        if isinstance(value, dict):
            return {f"{key}": hostile(part, key) for key, part in value.items()}
        return [hostile(part) for part in value] if isinstance(value, list) else "'><script>"

    named = [
        {**one, "claims": [{**claim, "quantity": "q", "headline": True} for claim in one["claims"]]}
        for one in records
    ]
    report = whole_page(tmp_path, [hostile(record) for record in named])
    assert report.count("&#x27;&gt;&lt;script&gt;") > 40
    assert "<script" not in report


def test_text_is_escaped_unless_it_is_markup():
    assert tag("b", "<", Markup("<br>"), 1, class_="'", id="") == "<b class='&#x27;'>&lt;<br>1</b>"
    assert tag("img", src="<", aria_label="x", name=None) == "<img src='&lt;' aria-label='x'>"
    assert joined(["<", tag("i")]) == "&lt;<i></i>"
    assert joined([f"{tag('i')}"]) == "&lt;i&gt;&lt;/i&gt;"  # formatting makes it text again


def test_parts_of_pages():
    assert "<th scope='col'>a</th>" in grid(["a"], [cells(["1"])], label="numbers")
    assert cells(["1", 2], named=True) == "<tr><th scope='row'>1</th><td>2</td></tr>"
    assert folded("t", "<", opened=True) == "<details open='open'><summary>t</summary>&lt;</details>"
    png = bytes(16) + bytes([0, 0, 1, 2, 0, 0, 0, 3])
    assert image("a", png, "b") == "<img src='a' alt='b' width='258' height='3'>"
    assert "class='skip'" in page("t", [], header=["h"])
    assert "<body><main id='main'>x</main></body>" in page("t", ["x"])


def test_spreads_hide_nothing():
    assert spread([1.0]) == "1"
    assert spread([2.0, 1.0]) == "1 … 2"
    assert spread([1.0, "nan"]) == spread(["nan", 1.0]) == "1, NaN"
    assert spread(["nan"]) == "NaN"
    assert spread(["inf", 1]) == "1 … inf"
