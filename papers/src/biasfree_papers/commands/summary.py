"""Figures on a terminal: a line for each, one screen for all, and claims in full."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from biasfree.tables import shown as printed
from biasfree_papers.reproduction.report import (
    PAGE,
    count,
    headlines,
    holds,
    limit,
    marks,
    natures,
    of_kind,
    ordered,
    seed_count,
    spread,
    tally,
)
from biasfree_papers.reproduction.storage import RECORD

#: Lines of the screen, and its columns where the output is no terminal.
LINES, _COLUMNS = 40, 100
Record = Mapping[str, Any]


def columns() -> int:
    """The columns of the terminal, or those of a file or pipe."""
    return shutil.get_terminal_size((_COLUMNS, LINES)).columns if sys.stdout.isatty() else _COLUMNS


def show(lines: Iterable[Text]) -> None:
    """Print lines, in color on a terminal."""
    console = Console(width=columns(), highlight=False)
    for line in lines:
        console.print(line, soft_wrap=True)


def figure_line(record: Record, seconds: float, width: int) -> Text:
    """One line about a finished figure: its name, the seconds it took, claims of ours, its first headline."""
    ours = of_kind(record["claims"], "ours")
    line = Text(f"{record['figure']:<12} {seconds:>4.0f} s  ")
    line.append(f"ours {count(ours):<9}", style=_color(ours))
    for claim in headlines(record)[:1]:
        text = f"{claim['verdict']}: {claim['sentence']}"
        line.append(" " + _short(text, width - len(line) - 1))
    return line


def screen(records: Sequence[Record], out: Path, *, width: int, lines: int = LINES) -> list[Text]:
    """What holds, what does not and why, and where to look, in at most so many lines."""
    where = _where(out)
    above = list(_holding(records))
    return [*above, *_failing(records, out, width, lines - len(above) - len(where)), *where]


def _holding(records: Sequence[Record]) -> Iterator[Text]:
    every = [claim for record in records for claim in record["claims"]]
    held = tally(every)
    yield Text()
    if ours := held.pop("ours", ""):
        color = _color(of_kind(every, "ours"))
        yield Text(f"{ours}:", style=color)
        yield Text(f"  {natures(every)}.", style=color)
    if held:
        yield Text(f"Reported only: {', '.join(held.values())}.")


def _failing(records: Sequence[Record], out: Path, width: int, lines: int) -> Iterator[Text]:
    """Headlines that do not hold, then other claims of papers; claims of ours are shown in full elsewhere."""
    failing = [
        (record["figure"], claim, claim in headlines(record))
        for record in records
        for claim in record["claims"]
        if claim["kind"] != "ours" and not holds(claim)
    ]
    if not failing:
        return
    first = [(name, claim) for name, claim, headline in failing if headline]
    first += [(name, claim) for name, claim, headline in failing if not headline and claim["kind"] == "paper"]
    yield Text()
    yield Text("What does not hold in every run", style="bold")
    shown = first[: (lines - 3) // 2]
    for name, claim in shown:
        yield from _reported(name, claim, width)
    if rest := len(failing) - len(shown):
        which = "more" if shown else "that we observed"
        yield Text(f"  {rest} {which}: biasfree report --claims{_option(out)}")


def _reported(name: str, claim: Record, width: int) -> Iterator[Text]:
    """A claim in two lines: the sentence with its numbers; the verdict with the reason."""
    numbers = f": {spread(claim['measured'])}, {limit(claim)}"
    begin = f"  {name:<12} "
    yield Text(begin + _short(claim["sentence"], width - len(begin) - len(numbers)) + numbers)
    reason = f"{claim['verdict']}. {claim['note']}".strip()
    yield Text(" " * len(begin) + _short(reason, width - len(begin)), style="dim")


def _where(out: Path) -> list[Text]:
    return [
        Text(),
        Text(f"Pictures and verdicts: {out / PAGE}", style="bold"),
        Text(f"Every claim: biasfree report --claims{_option(out)}, or {out / RECORD}"),
    ]


def _option(out: Path) -> str:
    """The option that names a folder which is not the default."""
    return "" if out == Path("out") else f" --out {out}"


def _color(ours: Sequence[Record]) -> str:
    return "green" if all(map(holds, ours)) else "bold red"


def _short(text: str, width: int) -> str:
    return textwrap.shorten(text, max(width, 10), placeholder=" …")


def show_claims(record: Record, claims: Iterable[Record], tables: Iterable[Record] = ()) -> None:
    """Print claims and tables of one figure, in full."""
    console = Console(width=None if sys.stdout.isatty() else 140)  # no folding of words in a file or pipe
    console.print(_claims(record, claims))
    for table in tables:
        console.print(_plain(table))


def _claims(record: Record, claims: Iterable[Record]) -> Table:
    rebuilt = " [rebuilt]" if record["rebuilt"] else ""
    title = Text(f"{record['figure']}{rebuilt}: {record['title']}")
    table = Table(title=title, title_justify="left", show_lines=True, expand=True)
    for column in ("whose", "claim", "measured", "bound", "verdict"):
        wide = column == "claim"
        table.add_column(column, ratio=1 if wide else None, max_width=None if wide else 20)
    for claim in ordered({"claims": claims}):
        table.add_row(*_row(claim), style="" if claim["kind"] == "ours" else "dim italic")
    return table


def _row(claim: Record) -> tuple[Any, ...]:
    ours = claim["kind"] == "ours"
    note = f"\nnote: {claim['note']}" if claim["note"] else ""
    seeds = f"\n{seed_count(claim)}" if claim["number of seeds"] else ""
    whose = "ours" if ours else f"{claim['kind']} (reported)"
    return (
        "\n".join([whose, *marks(claim)]),
        Text(f"{claim['sentence']}\n{claim['source']}\nbound: {claim['origin']}{note}"),
        Text("\n".join(filter(None, (claim.get("quantity"), spread(claim["measured"]))))),
        ("≤ " if claim["sense"] == "at most" else "≥ ") + f"{spread(claim['bound'])}\n{claim['basis']}",
        Text(f"{claim['verdict']}{seeds}", style=("green" if holds(claim) else "red") if ours else ""),
    )


def _plain(table: Record) -> Table:
    drawn = Table(title=Text(table["title"]), title_justify="left", box=None)
    for column in table["columns"]:
        drawn.add_column(Text(column))
    for row in table.get("brief", table["rows"]):
        drawn.add_row(*(Text(printed(cell)) for cell in row))
    return drawn
