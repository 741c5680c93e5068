"""Tables for terminals, pages and JSON files."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

_WIDTH = 110  # columns of a terminal


@dataclass(frozen=True)
class Table:
    """A title, column names, and rows of numbers or strings.

    `brief` holds the rows that a terminal shows; by default all.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]
    brief: tuple[tuple[object, ...], ...] | None = None

    def __post_init__(self):
        if any(len(row) != len(self.columns) for row in self.rows):
            raise ValueError(f"every row of {self.title!r} must have {len(self.columns)} cells.")

    def record(self) -> dict[str, Any]:
        """The table as JSON-compatible values."""
        record = {"title": self.title, "columns": list(self.columns), "rows": as_json(self.rows)}
        return record if self.brief is None else {**record, "brief": as_json(self.brief)}


def shown(cell: object) -> str:
    """A cell as text: three significant digits, yes or no, – for None."""
    cell = as_json(cell)
    if cell is None:
        return "–"
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    return f"{cell:.3g}" if isinstance(cell, float) else str(cell)


def printed(table: Table) -> str:
    """The table for a terminal: its title, its columns, and the rows that a terminal shows."""
    from rich.console import Console
    from rich.table import Table as Drawn
    from rich.text import Text

    console = Console(width=_WIDTH, color_system=None)
    drawn = Drawn(*table.columns, title=table.title, title_justify="left", box=None, pad_edge=False)
    for row in table.rows if table.brief is None else table.brief:
        drawn.add_row(*(Text(shown(cell)) for cell in row))
    with console.capture() as captured:
        console.print(drawn)
    return captured.get()


def wrapped(lines: Iterable[str]) -> str:
    """Sentences for a terminal, each on lines of its own."""
    return "".join(f"{textwrap.fill(line, _WIDTH, break_on_hyphens=False)}\n" for line in lines)


def as_json(value: Any) -> Any:
    """A JSON-compatible value: Python numbers, lists and dicts; NaN and infinity become strings."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {name: as_json(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def duration(seconds: float) -> str:
    """A time as people read it."""
    if seconds < 100:
        return f"{seconds:.3g} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60:02} min"


def size(count: float) -> str:
    """Bytes as people read them."""
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} GB"
