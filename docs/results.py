"""Write OUT/results.md: every claim with its verdict; the site has it too, and the results of neighbors.md.

    python docs/results.py OUT

Reads OUT/claims.json of the last `make paper`; refuses figures that are missing, or that were made with other
sources or settings than the present ones. Fails if the table of verdicts in the README says otherwise.
"""

import hashlib
import json
import re
import sys
import textwrap
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from biasfree.files import replacing
from biasfree.tables import shown as printed
from biasfree_papers.experiment import BASES, KINDS, NATURES, PAPER, UNKNOWN
from biasfree_papers.registry import REGISTRY
from biasfree_papers.reproduction.fingerprint import (
    figure_fingerprint,
    numbers_fingerprint,
    sources_fingerprint,
)
from biasfree_papers.reproduction.report import count, holds, marks, natures, of_kind, ordered, spread
from biasfree_papers.reproduction.storage import load_numbers

ROOT = Path(__file__).parents[1]
#: What was learned, in words; it is part of the page.
FINDINGS = ROOT / "docs" / "findings.md"
AT_HAND = BASES[-1]
Record = Mapping[str, Any]


def load(out: Path) -> list[Record]:
    """The records of all figures, made with the present sources and the default settings."""
    records = json.loads((out / "claims.json").read_text(encoding="utf-8"))
    missing = [name for name in REGISTRY if name not in {record["figure"] for record in records}]
    stale = [record["figure"] for record in records if not _is_current(record, out)]
    if missing or stale:
        raise ValueError(
            f"{out / 'claims.json'} must have every figure, made with these sources, these versions and the "
            f"default settings. Missing: {missing}. Made otherwise: {stale}. "
            f"Make them with `biasfree run --all --out {out}`."
        )
    return records


def _is_current(record: Record, out: Path) -> bool:
    """Whether claims and numbers are those that the present sources give at the default settings."""
    experiment = REGISTRY[record["figure"]]
    settings, (_, origin) = experiment.settle(), load_numbers(out / experiment.name)
    present = (figure_fingerprint(experiment, settings), numbers_fingerprint(experiment, settings))
    return (record["fingerprint"], origin.fingerprint) == present


def digest() -> str:
    """The hash of what the repository decides: sources, texts and default settings of all figures."""
    joined = "".join(sources_fingerprint(experiment) for experiment in REGISTRY.values())
    return hashlib.sha256(joined.encode()).hexdigest()[:16]


def page(records: list[Record]) -> str:
    """The text of the page."""
    failing = [(record, claim) for record in records for claim in ordered(record) if not holds(claim)]
    parts = [
        "# Every claim and its verdict",
        "What holds of the paper, and of its neighbors? Every figure makes claims, and each is measured.",
        counts(records),
        _KEY,
        "Written by `make results` from `out/claims.json`. Sources and settings have the hash "
        f"`{digest()}`. Versions: {_versions(records)}.",
        *(
            part
            for name in dict.fromkeys(record["section"] for record in records)
            for part in (f"## {name}", *([UNKNOWN] if name == PAPER else []), summary(records, name))
        ),
        FINDINGS.read_text(encoding="utf-8").strip(),
        "## Claims that do not hold",
        table(
            ("figure", "whose", "claim", "verdict", "why"),
            [(_link(one), _whose(c), c["sentence"], _verdict(c), c["note"]) for one, c in failing],
        ),
    ]
    for record in records:
        parts += [f"## {record['figure']}", f"{_escaped(record['title'])}{_rebuilt(record)}.", claims(record)]
    return "\n\n".join(parts) + "\n"


def counts(records: list[Record]) -> str:
    """How many figures there are, and how many of their claims hold."""
    every = [claim for record in records for claim in record["claims"]]
    ours = [claim for claim in every if claim["kind"] == "ours"]
    others = sum(record["section"] != PAPER for record in records)
    minutes = sum(record["seconds"] for record in records) / 60
    at_hand = sum(c["basis"] == AT_HAND for c in every)
    return (
        f"{len(records)} figures, {others} of them of other papers, took {minutes:.0f} minutes of one core. "
        f"{sum(map(holds, every))} of {len(every)} claims hold; of ours {sum(map(holds, ours))} of "
        f"{len(ours)}: {natures(ours)}. The bounds of {at_hand} claims were chosen with runs at hand."
    )


def summary(records: list[Record], section: str) -> str:
    """One row per figure of a section: how many of its claims hold, of all that it has."""
    kinds = ("ours hold", "the paper's hold", "observed hold")
    head = ("figure", "about", *kinds, "predictions, theorems, identities", AT_HAND)
    rows = [
        (
            _link(one) + _rebuilt(one),
            one["title"],
            *(_count(one, kind) for kind in KINDS),
            ", ".join(str(sum(c["nature"] == nature for c in one["claims"])) for nature in NATURES),
            sum(claim["basis"] == AT_HAND for claim in one["claims"]) or "–",
        )
        for one in records
        if one["section"] == section
    ]
    return table(head, rows)


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
    return table(("whose", "claim", "measured", "bound", "which is", "verdict"), rows)


def reported(text: str, records: list[Record]) -> str:
    """The page of the neighboring papers with what their figures measured in place of the comments."""
    for record in records:
        text = text.replace(f"<!-- results of {record['figure']} -->", results_of(record))
    return text


def results_of(record: Record) -> str:
    """The caption of a figure, its tables and its claims."""
    caption = textwrap.fill(
        record["caption"].replace("*", "\\*"), 118, break_long_words=False, break_on_hyphens=False
    )
    parts = [f"*{caption}*"]
    for one in record["tables"]:
        rows = [[printed(cell) for cell in row] for row in one.get("brief", one["rows"])]
        title = one["title"][0].upper() + one["title"][1:]
        parts += [f"{_escaped(title)}:", table(one["columns"], rows)]
    return "\n\n".join([*parts, "The claims of the figure:", claims(record)])


def disagreements(readme: str, records: list[Record]) -> list[str]:
    """The figures whose verdict in the README's table is not that of their claims."""
    said = verdicts(readme)
    found = {record["figure"]: verdict(record) for record in records}
    return [
        f"{name}: the README says {said.get(name)!r}, its claims {found.get(name)!r}"
        for name in {**said, **found}
        if said.get(name) != found.get(name)
    ]


def verdicts(readme: str) -> dict[str, str]:
    """Figure → verdict of the README's table; what follows a colon says what fails."""
    rows = re.findall(r"^\| `(\w+)`.* \| ([^|:]+)[^|]*\|$", readme, re.MULTILINE)
    return {name: word.strip() for name, word in rows}


def verdict(record: Record) -> str:
    """ "holds" if every claim of a figure does, "in part" if some do, "fails" if none does."""
    held = [holds(claim) for claim in record["claims"]]
    return "holds" if all(held) else "in part" if any(held) else "fails"


_KEY = """*Ours*: the bound is derived; one that fails makes `make paper` fail. A *prediction* among them
leaves something out, which its bound estimates (terms, time, chance), and could fail. A *theorem* is exact
for these runs, an *identity* for any weights, by algebra: these two test code. *Paper*: a statement of a
paper, or what its figure shows. *Observed*: what we saw and cannot derive. Both are reported, over seeds
where they depend on the initial weights, and decide nothing. *Rebuilt*: settings, or the way a sentence is
read, are ours, because the text is not available or does not say. A bound is *derived*, *stated* by the
paper (its number, order or sign), *chosen* by us where the paper gives none, or *chosen with runs at hand*:
such a claim says what we saw and tests little. A *headline* is one of up to three claims that a reader of
the figure should know."""


def _versions(records: list[Record]) -> str:
    used = {f"{name} {version}" for record in records for name, version in record["versions"].items()}
    return ", ".join(sorted(used))


def _link(record: Record) -> str:
    """To the section of a figure, whose anchor is in small letters."""
    return f"[{record['figure']}](#{record['figure'].lower()})"


def _whose(claim: Record) -> str:
    return ", ".join([claim["kind"], *(["headline"] if claim["headline"] else []), *marks(claim)])


def _verdict(claim: Record) -> str:
    return claim["verdict"] if holds(claim) else f"**{claim['verdict']}**"


def _rebuilt(record: Record) -> str:
    return " [rebuilt]" if record["rebuilt"] else ""


def _count(record: Record, kind: str) -> str:
    found = of_kind(record["claims"], kind)
    part = sum(any(claim["held"]) and not holds(claim) for claim in found)
    return count(found) + (f", {part} in part" if part else "")


def table(head: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(tuple(head)), *rows]
    return "\n".join("| " + " | ".join(_escaped(str(cell)) for cell in line) + " |" for line in lines)


def _escaped(text: str) -> str:
    """Text for a cell of a table: bold and links stay, other signs of Markdown do not act."""
    bold = text.startswith("**") and text.endswith("**")
    inner = text[2:-2] if bold else text
    for sign in ("|", "*"):
        inner = inner.replace(sign, f"\\{sign}")
    return f"**{inner}**" if bold else inner.replace("<", "&lt;")


def main(out: Path) -> str | None:
    records = load(out)
    with replacing(out / "results.md") as file:
        file.write(page(records).encode())
    print(out / "results.md")
    return "\n".join(disagreements((ROOT / "README.md").read_text(encoding="utf-8"), records)) or None


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
