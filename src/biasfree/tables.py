"""Tables as they are shown and stored: a title, names of columns, rows of numbers or words."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Table:
    """A title, names of columns, and rows of numbers or words.

    `brief` are the rows that a terminal shows, all unless given.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    brief: tuple[tuple[Any, ...], ...] | None = None

    def __post_init__(self):
        if any(len(row) != len(self.columns) for row in self.rows):
            raise ValueError(f"every row of {self.title!r} must have {len(self.columns)} cells.")

    def record(self) -> dict[str, Any]:
        """The table as plain values, for a JSON file."""
        record = {"title": self.title, "columns": list(self.columns), "rows": as_json(self.rows)}
        return record if self.brief is None else {**record, "brief": as_json(self.brief)}


def shown(cell: Any) -> str:
    """A cell as a reader wants it."""
    cell = as_json(cell)
    if cell is None:
        return "–"
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    return f"{cell:.3g}" if isinstance(cell, float) else str(cell)


def as_json(value: Any) -> Any:
    """A value as JSON has it: Python's own numbers, lists and dicts; what is not finite is a word."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {name: as_json(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value
