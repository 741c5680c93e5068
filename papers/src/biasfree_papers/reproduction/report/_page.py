"""The report: the paper's statement and its main figures first, then every figure in a section of its own."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from biasfree.files import replacing
from biasfree.pages import Markup, bullets, cells, folded, grid, heading, joined, page, tag
from biasfree_papers.experiment import KINDS, NEIGHBORS, PAPER, UNKNOWN
from biasfree_papers.registry import REGISTRY
from biasfree_papers.reproduction.report._section import badge, picture, section, verdict
from biasfree_papers.reproduction.report._verdicts import (
    Record,
    count,
    headlines,
    holds,
    natures,
    of_kind,
    tally,
)
from biasfree_papers.reproduction.storage import RECORD, finished_record

_STYLE = Path(__file__).with_name("report.css")
#: The figures in the main text of the paper, which are shown first.
_MAIN = ("fig1", "fig3", "fig4", "fig5", "fig6", "fig8")
_TITLE = "When are bias-free ReLU networks effectively linear networks?"
_STATEMENT = (
    "Two-layer ReLU networks without biases express no odd functions but linear ones, and on symmetric data "
    "they learn exactly as linear networks do, with time and weights rescaled."
)
_PAPER = Markup(
    "Y. Zhang, A. Saxe and P. Latham, TMLR 2025, "
    "<a href='https://arxiv.org/abs/2406.12615'>arXiv 2406.12615</a>, cited as [ZSL25]. "
    "Below are its figures, computed anew, with the claims that were tested."
)

#: Introductions to the parts of the page, in their order.
_PARTS = {
    PAPER: f"The figures of [ZSL25], figures of its statements, and two extensions. {UNKNOWN}",
    NEIGHBORS: Markup(
        "Results of other papers on networks with small initial weights, reproduced with the same "
        "simulators and measured by the same functions. Where a run violates a condition of a theorem, the "
        "violation is measured too; <code>docs/neighbors.md</code> compares these papers."
    ),
}

_KEY = Markup(
    "<p>A claim is a sentence in our words with its measured values, its bound, and the origin of the bound."
    "</p><ul><li><b>Ours</b>: guaranteed by this package. The bound is derived, and the command fails if the "
    "claim does. A <b>prediction</b> among them leaves something out, which its bound estimates (terms, "
    "time, chance): it could fail. A <b>theorem</b> is exact for these runs, an <b>identity</b> for any "
    "weights, by algebra: these two test code.</li>"
    "<li><b>Paper</b>: stated or shown by a paper. It is reported only, with the reason where it does not "
    "hold.</li>"
    "<li><b>Observed</b>: measured here, without a derivation. It is reported only.</li>"
    "<li><b>Rebuilt</b>: a setting or an interpretation that we reconstructed, because the paper's text is "
    "not available or does not state it.</li></ul>"
    "<p>A bound is derived; stated by the paper; chosen by us; or chosen with runs at hand, which tests "
    "little.</p>"
)
PAGE = "report.html"


def whole_page(out: Path, records: Sequence[Record]) -> str:
    """The page of these records, whose pictures are in folders of `out`."""
    header = (
        heading(_TITLE, level=1),
        tag("p", _STATEMENT, class_="statement"),
        tag("p", _PAPER, class_="note"),
    )
    parts = [
        _verdict(records),
        *_first(out, records),
        _contents(records),
        *(part for name, chosen in _parts(records) for part in _part(out, name, chosen)),
    ]
    style = _STYLE.read_text(encoding="utf-8")
    return page("biasfree: the paper, reproduced", parts, style=style, header=header)


def _parts(records: Sequence[Record]) -> Iterator[tuple[str, list[Record]]]:
    """The parts that have finished figures, with their records; those of other packages are the last."""
    for name in dict.fromkeys([*_PARTS, *(record["section"] for record in records)]):
        if chosen := [record for record in records if record["section"] == name]:
            yield name, chosen


def _part(out: Path, name: str, records: Sequence[Record]) -> Iterator[Markup]:
    yield heading(name)
    if name in _PARTS:
        yield tag("p", _PARTS[name])
    for record in records:
        yield section(out, record)


def _verdict(records: Sequence[Record]) -> Markup:
    """What holds, in one line, and below it what does not."""
    every = [claim for record in records for claim in record["claims"]]
    lines = [
        joined([tag("b", text), f": {natures(every)}"]) if kind == "ours" else text
        for kind, text in tally(every).items()
    ]
    missing = [name for name in REGISTRY if name not in {record["figure"] for record in records}]
    unmade = f"Not made yet: {', '.join(missing)}." if missing else ""
    folds = tag("div", _failing(records), folded("What these words mean", _KEY), class_="folds")
    return joined([tag("p", *(part for line in lines for part in (line, ". ")), unmade), folds])


def _failing(records: Sequence[Record]) -> Markup:
    """The claims that do not hold, ours first."""
    failing = [(record, claim) for record in records for claim in record["claims"] if not holds(claim)]
    failing.sort(key=lambda pair: KINDS.index(pair[1]["kind"]))
    if not failing:
        return Markup()
    broken = sum(claim["kind"] == "ours" for _, claim in failing)
    items = (
        joined([_link(record), " ", badge(claim["kind"]), verdict(claim), f": {claim['sentence']}"])
        for record, claim in failing
    )
    which = f", {broken} of them ours" if broken else ""
    number = "1 claim does" if len(failing) == 1 else f"{len(failing)} claims do"
    title = f"{number} not hold in every run{which}"
    return folded(title, bullets(items, class_="plain"), opened=bool(broken))


def _first(out: Path, records: Sequence[Record]) -> Iterator[Markup]:
    """The main figures, with the verdicts on their headlines."""
    if main := [record for record in records if record["figure"] in _MAIN]:
        yield heading("The main figures")
        yield tag("div", *(_card(out, record) for record in main), class_="cards")


def _card(out: Path, record: Record) -> Markup:
    name = record["figure"]
    small = picture(out, name, f"Picture of {name}")
    subject = re.sub(r"\s*\([^()]*\)$", "", record["title"])  # without the reference at its end
    lines = (joined([verdict(claim), ": ", claim["sentence"]]) for claim in headlines(record))
    return tag(
        "article",
        tag("a", small, href=f"#{name}"),
        tag("div", heading(f"{name}: {subject}", level=3), bullets(lines, class_="plain short")),
        class_="card",
    )


def _contents(records: Sequence[Record]) -> Markup:
    """One table of all figures, with links to their sections."""
    names = ("figure", "about", "ours hold", "paper’s hold", "observed hold", "runtime")
    parts = [heading("All figures")]
    for part, chosen in _parts(records):
        figures = grid(names, map(_row, chosen), label=f"Figures: {part}", class_="text")
        parts += [heading(part, level=3), figures]
    return tag("nav", *parts, aria_label="All figures")


def _row(record: Record) -> Markup:
    counts = (count(of_kind(record["claims"], kind)) for kind in KINDS)
    return cells([_link(record), record["title"], *counts, f"{record['seconds']:.0f} s"], named=True)


def _link(record: Record) -> Markup:
    return tag("a", record["figure"], href=f"#{record['figure']}")


def write_report(out: Path) -> list[dict[str, Any]]:
    """Write out/report.html and out/claims.json from the figures that are finished; returns their records."""
    found = (finished_record(out / name) for name in REGISTRY)
    records = [record for record in found if record is not None]
    with replacing(out / RECORD) as file:
        file.write(json.dumps(records, indent=1, ensure_ascii=False).encode())
    with replacing(out / PAGE) as file:
        file.write(whole_page(out, records).encode())
    return records
