"""A row of the table: times of ours and of the peer, the goal, the errors of both; the table and its JSON."""

from __future__ import annotations

import json
import operator
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from biasfree.files import replacing
from biasfree.tables import as_json

COLUMNS = ("workload", "ours", "peer", "takes", "ratio", "goal", "reached", "error", "its error")


@dataclass(frozen=True)
class Goal:
    """A goal for a ratio (×), a time (s) or memory (GB): ≥, ≤ or < a number."""

    sense: str
    number: float
    unit: str = "×"

    def met(self, value: float) -> bool:
        compare = {"≥": operator.ge, "≤": operator.le, "<": operator.lt}[self.sense]
        return compare(value, self.number)

    def __str__(self) -> str:
        return f"{self.sense} {_amount(self.number, self.unit)}"


@dataclass(frozen=True)
class Row:
    """One measurement beside its peer; times are in seconds unless `unit` says otherwise.

    `ratio` is what the goal is about, by default how many times as fast as the peer we are; `bound` is what
    our error must not exceed for the goal to count.
    """

    workload: str
    peer: str = "–"
    ours: float | None = None
    theirs: float | None = None
    unit: str = "s"
    ratio: float | None = None
    ratio_unit: str = "×"
    goal: Goal | None = None
    error: float | None = None
    peer_error: float | None = None
    bound: float | None = None
    note: str = ""

    def __post_init__(self):
        if self.ratio is None and self.ours and self.theirs:
            object.__setattr__(self, "ratio", self.theirs / self.ours)
        if self.goal is not None:
            object.__setattr__(self, "ratio_unit", self.goal.unit)

    @property
    def reached(self) -> bool | None:
        """Whether the goal is met at the accuracy asked for; None without a goal."""
        if self.goal is None:
            return None
        accurate = self.bound is None or (self.error is not None and self.error <= self.bound)
        return self.ratio is not None and self.goal.met(self.ratio) and accurate

    def record(self) -> dict[str, Any]:
        """The row as plain values, for a JSON file."""
        goal = None if self.goal is None else {**asdict(self.goal), "text": str(self.goal)}
        return as_json({**asdict(self), "goal": goal, "reached": self.reached})

    def cells(self) -> tuple[str, ...]:
        """The row as it is shown, column by column."""
        ratio = "–" if self.ratio is None else _amount(self.ratio, self.ratio_unit)
        reached = {None: "", True: "yes", False: "NO"}[self.reached]
        return (
            self.workload,
            quantity(self.ours, self.unit),
            self.peer,
            quantity(self.theirs, self.unit),
            ratio,
            str(self.goal or ""),
            reached,
            _error(self.error),
            _error(self.peer_error),
        )


def _amount(value: float, unit: str) -> str:
    if unit in ("GB", "s"):
        return f"{value:.3g} {unit}"
    return f"{value:.3g}×" if value < 100 else f"{value:,.0f}×"


def quantity(value: float | None, unit: str) -> str:
    """A number with its unit; seconds in the prefix that suits them."""
    if value is None:
        return "–"
    if not unit.startswith("s"):
        return f"{value:.3g} {unit}"
    prefixes = ((1, ""), (1e3, "m"), (1e6, "µ"), (1e9, "n"))
    factor, prefix = next((pair for pair in prefixes if value * pair[0] >= 1), prefixes[-1])
    return f"{value * factor:.3g} {prefix}{unit}"


def _error(value: float | None) -> str:
    return "–" if value is None else f"{value:.1e}"


#: Columns of characters where the output is no terminal.
WIDTH = 200


def write(path: Path, machine: dict[str, Any], rows: Sequence[Row], **more: Any) -> None:
    """Machine, rows and extra entries as JSON; the file is complete at any time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    record = {**machine, **more, "rows": [row.record() for row in rows]}
    with replacing(path) as file:
        file.write(json.dumps(record, indent=1, ensure_ascii=False).encode() + b"\n")


def show(machine: dict[str, Any], rows: Sequence[Row]) -> None:
    """The table, its notes below, and the number of goals reached."""
    console = Console() if Console().is_terminal else Console(width=WIDTH)
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    head = f"{machine['date']}, {machine['cpu']}, cores: {machine['cores']}; threads: {machine['threads']}"
    console.print(f"{head}\n{versions}\nfloat64; ratio > 1: we are faster.", highlight=False)
    table = Table(*COLUMNS)
    for number, row in enumerate(rows, 1):
        style = {None: "", True: "green", False: "red"}[row.reached]
        first, *others = row.cells()
        table.add_row(f"{first} ({number})" if row.note else first, *others, style=style)
    console.print(table)
    for number, row in enumerate(rows, 1):
        if row.note:
            console.print(Text(f"({number}) {row.note}"), highlight=False)
    reached = [bool(row.reached) for row in rows if row.goal]
    console.print(f"{sum(reached)} of {len(reached)} goals reached.", highlight=False)
