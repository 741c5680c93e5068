"""Write docs/results.md, every claim with its verdict, and the tables of verdicts in the README.

    python docs/results.py OUT

Reads OUT/claims.json of the last `make paper`; refuses figures that are missing or that other sources made.
"""

import hashlib
import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from biasfree.files import replacing
from biasfree_papers.experiment import BASES, KINDS, NEIGHBORS, PAPER
from biasfree_papers.registry import REGISTRY
from biasfree_papers.reproduction.fingerprint import figure_fingerprint
from biasfree_papers.reproduction.report import marks, spread

ROOT = Path(__file__).parents[1]
PAGE, README = ROOT / "docs" / "results.md", ROOT / "README.md"
AT_HAND = BASES[-1]
Record = Mapping[str, Any]


def load(out: Path) -> list[Record]:
    """The records of all figures, made by the present sources."""
    records = json.loads((out / "claims.json").read_text(encoding="utf-8"))
    missing = [name for name in REGISTRY if name not in {record["figure"] for record in records}]
    stale = [
        record["figure"]
        for record in records
        if record["fingerprint"] != figure_fingerprint(REGISTRY[record["figure"]], record["settings"])
    ]
    if missing or stale:
        raise ValueError(
            f"{out / 'claims.json'} must have all figures, made by these sources; it lacks {missing}, and of "
            f"others are {stale}. Make them with `biasfree run --all --out {out}`."
        )
    return records


def digest(records: Iterable[Record]) -> str:
    """Of the sources, settings and versions that all figures were made by."""
    joined = "".join(record["fingerprint"] for record in records)
    return hashlib.sha256(joined.encode()).hexdigest()[:16]


def page(records: list[Record]) -> str:
    """docs/results.md."""
    failing = [(record, claim) for record in records for claim in ordered(record) if not _holds(claim)]
    parts = [
        "# Every claim and its verdict",
        "Written by `make results` from `out/claims.json`; do not edit. Sources, settings and versions have "
        f"the hash `{digest(records)}`.",
        _KEY,
        *(part for name in (PAPER, NEIGHBORS) for part in (f"## {name}", summary(records, name, "#"))),
        "## What does not hold",
        _table(
            ("figure", "whose", "claim", "verdict", "why"),
            [(_link(one, "#"), _whose(c), c["sentence"], _verdict(c), c["note"]) for one, c in failing],
        ),
    ]
    for record in records:
        parts += [f"## {record['figure']}", f"{_escaped(record['title'])}{_rebuilt(record)}.", claims(record)]
    return "\n\n".join(parts) + "\n"


def summary(records: list[Record], section: str, link: str) -> str:
    """A row for every figure: how many of its claims hold, for all seeds or some; all are counted."""
    head = ("figure", "about", "ours hold", "the paper's hold", "observed hold", "identities", AT_HAND)
    rows = [
        (
            _link(one, link) + _rebuilt(one),
            one["title"],
            *(_count(one, kind) for kind in KINDS),
            sum(claim["identity"] for claim in one["claims"]) or "–",
            sum(claim["basis"] == AT_HAND for claim in one["claims"]) or "–",
        )
        for one in records
        if one["section"] == section
    ]
    return _table(head, rows)


def claims(record: Record) -> str:
    """All claims of one figure."""
    rows = [
        (
            _whose(claim),
            claim["sentence"],
            spread(claim["measured"]),
            ("≤ " if claim["sense"] == "at most" else "≥ ") + spread(claim["bound"]),
            claim["basis"],
            _verdict(claim),
        )
        for claim in ordered(record)
    ]
    return _table(("whose", "claim", "measured", "bound", "which is", "verdict"), rows)


def readme(text: str, records: list[Record]) -> str:
    """The README with what lies between its markers written anew."""
    every = [claim for record in records for claim in record["claims"]]
    ours = [claim for claim in every if claim["kind"] == "ours"]
    others = sum(record["section"] == NEIGHBORS for record in records)
    minutes = sum(record["seconds"] for record in records) / 60
    identities, at_hand = sum(c["identity"] for c in every), sum(c["basis"] == AT_HAND for c in every)
    counts = (
        f"{len(records)} figures, {others} of them of other papers, in {minutes:.0f} minutes of one core. "
        f"{sum(map(_holds, every))} of {len(every)} claims hold; of ours {sum(map(_holds, ours))} of "
        f"{len(ours)}, {identities} of which are identities. The bounds of {at_hand} were chosen with runs "
        f"at hand. Sources, settings and versions have the hash `{digest(records)}`."
    )
    for name, content in (
        ("counts", counts),
        ("paper", summary(records, PAPER, "docs/results.md#")),
        ("neighbours", summary(records, NEIGHBORS, "docs/results.md#")),
    ):
        begin, end = f"<!-- {name}: by make results -->", f"<!-- end of {name} -->"
        before, rest = text.split(begin)
        text = f"{before}{begin}\n\n{content}\n\n{end}{rest.split(end)[1]}"
    return text


def ordered(record: Record) -> list[Record]:
    """The claims of a figure, ours first."""
    return sorted(record["claims"], key=lambda claim: KINDS.index(claim["kind"]))


_KEY = """*Ours* have derived bounds and decide the exit code; an *identity* holds for any weights, by
algebra, and tests the code alone. The *paper*'s are what a paper says or shows, *observed* is what we saw and
cannot derive; both are reported and decide nothing. *rebuilt*: settings, or the way a sentence is read, are
ours, because the text is not available or does not say. A bound is *derived*, *stated* by the paper (its
number, order or sign), *chosen* by us where the paper gives none, or *chosen with runs at hand*: such a claim
says what we saw and tests little."""


def _link(record: Record, page: str) -> str:
    """To the section of a figure, whose anchor is in small letters."""
    return f"[{record['figure']}]({page}{record['figure'].lower()})"


def _whose(claim: Record) -> str:
    return ", ".join([claim["kind"], *marks(claim)])


def _holds(claim: Record) -> bool:
    return claim["verdict"] == "holds"


def _verdict(claim: Record) -> str:
    return claim["verdict"] if _holds(claim) else f"**{claim['verdict']}**"


def _rebuilt(record: Record) -> str:
    return " [rebuilt]" if record["rebuilt"] else ""


def _count(record: Record, kind: str) -> str:
    found = [claim for claim in record["claims"] if claim["kind"] == kind]
    part = sum(any(claim["held"]) and not _holds(claim) for claim in found)
    held = f"{sum(map(_holds, found))} of {len(found)}" if found else "–"
    return held + (f", {part} in part" if part else "")


def _table(head: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    lines = [head, ["---"] * len(tuple(head)), *rows]
    return "\n".join("| " + " | ".join(_escaped(str(cell)) for cell in line) + " |" for line in lines)


def _escaped(text: str) -> str:
    """Text for a cell of a table: bold and links stay, other signs of Markdown do not act."""
    bold = text.startswith("**") and text.endswith("**")
    inner = text[2:-2] if bold else text
    for sign in ("|", "*"):
        inner = inner.replace(sign, f"\\{sign}")
    return f"**{inner}**" if bold else inner.replace("<", "&lt;")


def main(out: Path) -> None:
    records = load(out)
    for path, text in ((PAGE, page(records)), (README, readme(README.read_text(encoding="utf-8"), records))):
        with replacing(path) as file:
            file.write(text.encode())
        print(path.relative_to(ROOT))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
