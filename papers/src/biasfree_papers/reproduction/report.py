"""The report: every finished figure with its claims, settings, runtime and versions, on one page."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from biasfree.files import replacing
from biasfree.pages import (
    Markup,
    bullets,
    cells,
    grid,
    heading,
    joined,
    note,
    page,
    picture,
    rows,
    tag,
)
from biasfree.tables import Table
from biasfree_papers.experiment import KINDS, NEIGHBORS, PAPER, UNKNOWN, Experiment
from biasfree_papers.registry import REGISTRY
from biasfree_papers.reproduction.storage import RECORD, finished_record

PAGE = "report.html"
_STYLE = """
.ours, .paper, .observed { padding: 0 0.5rem; border-radius: 0.7rem; font-size: 0.75rem; }
.ours { background: #222; color: #fff; } .observed { border: 1px dotted #777; }
.paper { border: 1px solid #999; } .paper, .observed { color: #555; font-style: italic; }
.holds { color: #1b5e20; } .fails { color: #b71c1c; font-weight: bold; } .part { color: #8a4b00; }
.rebuilt { background: #fff3cd; border: 1px solid #d9b64a; padding: 0 0.4rem; font-size: 0.75rem; }
.identity { border: 1px solid #222; padding: 0 0.4rem; font-size: 0.75rem; }
td.claim { max-width: 27rem; } details { margin: 0.4rem 0; } tr.reported td { color: #555; }
.changed { font-weight: bold; } figure { display: block; }
h2 { border-top: 2px solid #999; padding-top: 1rem; font-size: 1.3rem; }
h3 { border-top: 1px solid #ddd; padding-top: 1rem; font-size: 1.1rem; }
"""

#: Introductions to the sections of the report, in their order.
_SECTIONS = {
    PAPER: Markup(
        "[ZSL25] is Y. Zhang, A. Saxe, P. Latham, <i>When Are Bias-Free ReLU Networks Effectively Linear "
        "Networks?</i>, TMLR 2025, arXiv 2406.12615: its figures, its statements, and two extensions. "
        f"{UNKNOWN}"
    ),
    NEIGHBORS: Markup(
        "Results of other papers on networks with small initial weights, reproduced with the same "
        "simulators and measured by the same functions. Where a run violates a condition of a theorem, the "
        "violation is measured too; <code>docs/neighbors.md</code> compares these papers."
    ),
}

_BREAK, _REBUILT = Markup("<br>"), Markup("<span class='rebuilt'>rebuilt</span>")
_EXPLANATION = Markup(
    "Each claim is a sentence in our words with its measured values, its bound, and the origin of the "
    "bound. Claims marked <span class='ours'>ours</span> are guaranteed by this package: their bounds are "
    "derived, and the command fails if one of them does. Those that are also marked "
    "<span class='identity'>identity</span> hold for any weights, by algebra, and test the code alone. "
    "Claims marked <span class='paper'>paper</span> are stated or shown by a paper; those marked "
    "<span class='observed'>observed</span> were measured here and have no derivation. Both are reported "
    "only, with the reason where one does not hold. Below each bound is its basis: derived; stated by the "
    "paper; chosen by us; or chosen with runs at hand, which tests little. "
    "<span class='rebuilt'>rebuilt</span> marks a setting or an interpretation that we reconstructed because "
    "the paper's text is not available."
)

#: CSS classes of verdicts, by whether a claim holds for all values and for any.
_LOOKS = {(True, True): "holds", (False, True): "part", (False, False): "fails"}


def write_report(out: Path) -> list[dict[str, Any]]:
    """Write out/report.html and out/claims.json from the figures that are finished; returns their records."""
    records = list(_records(out))
    with replacing(out / RECORD) as file:
        file.write(json.dumps(records, indent=1, ensure_ascii=False).encode())
    with replacing(out / PAGE) as file:
        file.write(_page(out, records).encode())
    return records


def _records(out: Path) -> Iterator[dict[str, Any]]:
    for name in REGISTRY:
        if (record := finished_record(out / name)) is not None:
            yield record


def _page(out: Path, records: list[dict[str, Any]]) -> str:
    title = "When are bias-free ReLU networks effectively linear networks? Figures and claims, reproduced"
    parts = [
        heading(title, level=1),
        _introduction(records),
        *(_summary(name, chosen) for name, chosen in _sections(records)),
        *(part for name, chosen in _sections(records) for part in _section(out, name, chosen)),
    ]
    return page("biasfree: the paper, reproduced", parts, style=_STYLE)


def _sections(records: list[dict[str, Any]]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The sections that have finished figures, with their records."""
    for name in _SECTIONS:
        if chosen := [record for record in records if record["section"] == name]:
            yield name, chosen


def _section(out: Path, name: str, records: list[dict[str, Any]]) -> Iterator[Markup]:
    yield heading(name)
    yield tag("p", _SECTIONS[name])
    for record in records:
        yield from _figure(out, record)


def _introduction(records: list[dict[str, Any]]) -> Markup:
    missing = [name for name in REGISTRY if name not in {record["figure"] for record in records}]
    unmade = f" Not made yet: {', '.join(missing)}." if missing else ""
    return tag("p", _EXPLANATION, unmade)


def _summary(section: str, records: list[dict[str, Any]]) -> Markup:
    names = (section, "", "", "ours hold", "paper's hold", "observed hold", "runtime")
    return grid(names, map(_summarized, records))


def _summarized(record: Mapping[str, Any]) -> Markup:
    link = tag("a", record["figure"], href=f"#{record['figure']}")
    counts = (_count(record, kind) for kind in KINDS)
    return cells([link, _badge(record), record["title"], *counts, f"{record['seconds']:.0f} s"])


def _count(record: Mapping[str, Any], kind: str) -> str:
    claims = [claim for claim in record["claims"] if claim["kind"] == kind]
    if not claims:
        return "–"
    identities = sum(bool(claim["identity"]) for claim in claims)
    held = f"{sum(claim['verdict'] == 'holds' for claim in claims)} of {len(claims)}"
    return held + (f" (identities: {identities})" if identities else "")


def marks(claim: Mapping[str, Any]) -> list[str]:
    """The marks of a claim beside its kind."""
    return [mark for mark in ("identity", "rebuilt") if claim[mark]]


def _badge(record: Mapping[str, Any]) -> Markup:
    return _REBUILT if record["rebuilt"] else Markup()


def _figure(out: Path, record: Mapping[str, Any]) -> Iterator[Markup]:
    name, experiment = record["figure"], REGISTRY[record["figure"]]
    yield tag("h3", f"{name}: {record['title']} ", _badge(record), id=name)
    if record["rebuilt"]:
        yield tag("p", _REBUILT, f" {record['rebuilt']}", class_="note")
    yield picture((out / name / f"{name}.png").read_bytes(), record["caption"])
    yield _claims(record["claims"])
    if record["deviations"]:
        yield tag("p", "Where this differs from what is printed or proved:")
        yield bullets(record["deviations"])
    yield from (_folded(table["title"], rows(_as_table(table))) for table in record["tables"])
    yield _folded("Settings, runtime, versions", _settings(experiment, record))


def _claims(claims: Iterable[Mapping[str, Any]]) -> Markup:
    ordered = sorted(claims, key=lambda claim: KINDS.index(claim["kind"]))
    return grid(("", "claim", "measured", "bound", "seeds", "verdict"), map(_claim, ordered))


def _claim(claim: Mapping[str, Any]) -> Markup:
    reason = joined([_BREAK, tag("b", "Note:"), f" {claim['note']}"]) if claim["note"] else ""
    source = tag("span", f"{claim['source']}. Bound: {claim['origin']}", reason, class_="note")
    sign = "≤" if claim["sense"] == "at most" else "≥"
    look = _LOOKS[sum(claim["held"]) == len(claim["held"]), any(claim["held"])]
    badges = joined([part for mark in marks(claim) for part in (_BREAK, tag("span", mark, class_=mark))])
    return tag(
        "tr",
        tag("td", tag("span", claim["kind"], class_=claim["kind"]), badges),
        tag("td", claim["sentence"], _BREAK, source, class_="claim"),
        tag("td", spread(claim["measured"])),
        tag("td", f"{sign} {spread(claim['bound'])}", _BREAK, tag("span", claim["basis"], class_="note")),
        tag("td", claim["number of seeds"]),
        tag("td", claim["verdict"], class_=look),
        class_="" if claim["kind"] == "ours" else "reported",
    )


def spread(values: Iterable[Any]) -> str:
    """One number, or the smallest and the largest; NaN is mentioned."""
    numbers = [float(value) for value in values]
    known = [number for number in numbers if not math.isnan(number)]
    if not known:
        return "NaN"
    low, high = f"{min(known):.2g}", f"{max(known):.2g}"
    return (low if low == high else f"{low} … {high}") + (", NaN" if len(known) < len(numbers) else "")


def _as_table(record: Mapping[str, Any]) -> Table:
    return Table(record["title"], tuple(record["columns"]), tuple(map(tuple, record["rows"])))


def _settings(experiment: Experiment, record: Mapping[str, Any]) -> Markup:
    meanings = {name: setting.meaning for name, setting in experiment.settings.items()}
    body = (
        cells([name, _written(value), meanings.get(name, "")], class_=_changed(experiment, name, value))
        for name, value in record["settings"].items()
    )
    used = ", ".join(f"{package} {version}" for package, version in record["versions"].items())
    return joined([tag("table", *body), note(f"{record['seconds']:.1f} s on one thread; {used}")])


def _changed(experiment: Experiment, name: str, value: Any) -> str:
    """The CSS class of a setting that differs from its default."""
    setting = experiment.settings.get(name)
    return "" if setting is not None and setting.written == _written(value) else "changed"


def _written(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _folded(title: str, contents: Markup) -> Markup:
    return tag("details", tag("summary", title), contents)
