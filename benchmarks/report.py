"""The table on the terminal, and as JSON, complete after every row."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from benchmarks.rows import COLUMNS, Row
from biasfree.files import replacing

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
