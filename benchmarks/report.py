"""The table on the terminal, and as JSON, complete after every row."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from benchmarks.rows import Row
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
    console.print(_head(machine), highlight=False)
    if not rows:
        return
    table = Table(show_lines=False)
    for column in rows[0].cells():
        words = column in ("workload", "peer")
        table.add_column(column, justify="left" if words else "right", overflow="fold", no_wrap=not words)
    for number, row in enumerate(rows, 1):
        style = {None: "", True: "green", False: "red"}[row.reached]
        cells = row.cells()
        mark = f" ({number})" if row.note else ""
        table.add_row(cells.pop("workload") + mark, *cells.values(), style=style)
    console.print(table)
    for number, row in enumerate(rows, 1):
        if row.note:
            console.print(Text(f"({number}) {row.note}"), highlight=False)
    asked = [row for row in rows if row.goal]
    reached = sum(bool(row.reached) for row in asked)
    console.print(f"{reached} of {len(asked)} goals reached.", highlight=False)


def _head(machine: dict[str, Any]) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    return (
        f"{machine['date']}, {machine['cpu']}, cores: {machine['cores']}; threads: {machine['threads']}\n"
        f"{versions}\n"
        "float64; error = max over saved times of |ΔW|/|W| unless noted; ratio > 1: we are faster."
    )
