"""The page shows every finished figure with all it needs, and fetches nothing."""

import json
import re

import pytest

from biasfree.pages import Markup, joined, tag
from biasfree_papers.experiment import NEIGHBORS, PAPER, UNKNOWN, silent
from biasfree_papers.registry import REGISTRY
from biasfree_papers.reproduction import make, write_report
from biasfree_papers.reproduction.report import _page, spread
from stubs import stub


@pytest.fixture
def records(monkeypatch, tmp_path):
    """The records of two of three figures, reported."""
    for name in list(REGISTRY):
        monkeypatch.delitem(REGISTRY, name)
    rebuilt = {"rebuilt": "the labels <are> ours", "deviations": ("flow, not descent",)}
    monkeypatch.setitem(REGISTRY, "fig3", stub(holds=False, title="a < b", caption="how to read it"))
    monkeypatch.setitem(REGISTRY, "fig9", stub("fig9", section=NEIGHBORS, **rebuilt))
    monkeypatch.setitem(REGISTRY, "fig10", stub("fig10"))
    for name in ("fig3", "fig9"):
        make(REGISTRY[name], REGISTRY[name].settle({"width": 7}), tmp_path, silent)
    records = write_report(tmp_path)
    assert [record["figure"] for record in records] == ["fig3", "fig9"]
    assert json.loads((tmp_path / "claims.json").read_text()) == records
    return records


@pytest.fixture
def page(records, tmp_path):  # noqa: ARG001 - which writes it
    return (tmp_path / "report.html").read_text()


def test_it_shows_everything(page):
    for shown in (
        "a &lt; b", "how to read it", "a claim of ours", "does not hold", "holds for 1 of 2 seeds", "luck",
        "the labels &lt;are&gt; ours", "flow, not descent", "the stub&#x27;s table", "nan", "numpy",
        "a number of neurons, 2 or more", "Not made yet: fig10.", UNKNOWN,
    ):  # fmt: skip
        assert shown in page, shown
    assert page.count("data:image/png;base64,") == 2


def test_the_neighbors_have_a_section_of_their_own(page):
    order = [page.index(part) for part in (
        f"<h2>{PAPER}</h2>", "<h3 id='fig3'>", f"<h2>{NEIGHBORS}</h2>", "<h3 id='fig9'>",
    )]  # fmt: skip
    assert order == sorted(order)
    assert page.count("<h2") == 2


def test_it_is_self_contained(page):
    assert re.findall(r"(?:src|href)='(?!data:|#)", page) == []


def test_the_two_kinds_of_claims_differ_and_changed_settings_are_marked(page):
    assert page.count("<span class='ours'>ours</span>") == 3
    assert page.count("<span class='paper'>paper</span>") == 3
    assert page.count("<tr class='changed'><td>width</td><td>7</td>") == 2
    assert page.count("class='changed'") == 2
    # introduction, and for one figure summary, title, note; a claim of either
    assert page.count("<span class='rebuilt'>rebuilt</span>") == 6


def test_identities_and_the_origin_of_bounds_are_shown(page):
    assert page.count("<span class='identity'>identity</span>") == 3  # introduction, a claim of either figure
    assert page.count("1 of 1 (identities: 1)") == page.count("0 of 1 (identities: 1)") == 1
    assert page.count("<br><span class='note'>derived</span>") == 2
    assert page.count("<br><span class='note'>chosen</span>") == 2


def test_whatever_a_record_says_is_escaped(records, tmp_path):
    """Every text and every number in it but those that decide how it is shown."""
    deciding = {"figure", "section", "kind", "sense", "held", "measured", "bound", "seconds"}

    def hostile(value, name=""):
        if name in deciding:
            return value
        if isinstance(value, dict):
            return {f"{key}": hostile(part, key) for key, part in value.items()}
        return [hostile(part) for part in value] if isinstance(value, list) else "'><script>"

    page = _page(tmp_path, [hostile(record) for record in records])
    assert page.count("&#x27;&gt;&lt;script&gt;") > 40
    assert "<script" not in page


def test_text_is_escaped_unless_it_is_markup():
    assert tag("b", "<", Markup("<br>"), 1, class_="'", id="") == "<b class='&#x27;'>&lt;<br>1</b>"
    assert joined(["<", tag("i")]) == "&lt;<i></i>"
    assert joined([f"{tag('i')}"]) == "&lt;i&gt;&lt;/i&gt;"  # formatting makes it text again


def test_spreads_hide_nothing():
    assert spread([1.0]) == "1"
    assert spread([2.0, 1.0]) == "1 … 2"
    assert spread([1.0, "nan"]) == spread(["nan", 1.0]) == "1, NaN"
    assert spread(["nan"]) == "NaN"
    assert spread(["inf", 1]) == "1 … inf"
