"""Claims on a terminal: ours first, in full color; the others, which are reported only, dimmed."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table


def show_claims(
    record: Mapping[str, Any],
    claims: Iterable[Mapping[str, Any]],
    tables: Iterable[Mapping[str, Any]] = (),
) -> None:
    """Print claims and tables of one figure, in full."""
    from rich.console import Console

    console = Console(width=None if sys.stdout.isatty() else 140)  # no folding of words in a file or pipe
    console.print(_claims(record, claims))
    for table in tables:
        console.print(_plain(table))


def _claims(record: Mapping[str, Any], claims: Iterable[Mapping[str, Any]]) -> Table:
    from rich.table import Table
    from rich.text import Text

    from biasfree_papers.experiment import KINDS

    rebuilt = " [rebuilt]" if record["rebuilt"] else ""
    title = Text(f"{record['figure']}{rebuilt}: {record['title']}")
    table = Table(title=title, title_justify="left", show_lines=True, expand=True)
    for column in ("whose", "claim", "measured", "bound", "verdict"):
        wide = column == "claim"
        table.add_column(column, ratio=1 if wide else None, max_width=None if wide else 20)
    for claim in sorted(claims, key=lambda claim: KINDS.index(claim["kind"])):
        table.add_row(*_row(claim), style="" if claim["kind"] == "ours" else "dim italic")
    return table


def _row(claim: Mapping[str, Any]) -> tuple[Any, ...]:
    from rich.text import Text

    from biasfree_papers.reproduction.report import marks, seed_count, spread

    ours, holds = claim["kind"] == "ours", all(claim["held"])
    note = f"\nnote: {claim['note']}" if claim["note"] else ""
    seeds = f"\n{seed_count(claim)}" if claim["number of seeds"] else ""
    whose = "ours" if ours else f"{claim['kind']} (reported)"
    return (
        "\n".join([whose, *marks(claim)]),
        Text(f"{claim['sentence']}\n{claim['source']}\nbound: {claim['origin']}{note}"),
        Text("\n".join(filter(None, (claim.get("quantity"), spread(claim["measured"]))))),
        ("≤ " if claim["sense"] == "at most" else "≥ ") + f"{spread(claim['bound'])}\n{claim['basis']}",
        Text(f"{claim['verdict']}{seeds}", style=("green" if holds else "red") if ours else ""),
    )


def _plain(table: Mapping[str, Any]) -> Table:
    from rich.table import Table
    from rich.text import Text

    from biasfree.tables import shown

    drawn = Table(title=Text(table["title"]), title_justify="left", box=None)
    for column in table["columns"]:
        drawn.add_column(Text(column))
    for row in table.get("brief", table["rows"]):
        drawn.add_row(*(Text(shown(cell)) for cell in row))
    return drawn
