"""Run the workloads one after the other, print the table, write it as JSON."""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.measure import machine
from benchmarks.rows import Row, show, write

#: All workloads in the order of the table, by the name that `--only` takes.
NAMES = (
    "descent",
    "flow_fig3",
    "flow_six",
    "plateau",
    "cold_start",
    "aligned",
    "closed_form",
    "diagnose",
    "busy",
    "sweeps",
)


def workload(name: str) -> Any:
    """The module of that name, imported on first use: the GOALS of its rows, and what measures `rows()`."""
    return import_module(f"benchmarks.{name}")


def main(arguments: Sequence[str] | None = None) -> int:
    """All workloads or some; 1 if one of them failed, whatever the goals, and 130 after Ctrl-C."""
    options = _options(arguments)
    here, began = machine(), time.perf_counter()
    rows: list[Row] = []
    failed = interrupted = False
    try:
        for name in options.only or NAMES:
            failed |= not run(name, rows, lambda: write(options.out, here, rows, finished=False))
    except KeyboardInterrupt:
        interrupted = True
    took = time.perf_counter() - began
    write(options.out, here, rows, finished=not interrupted, seconds=took)
    show(here, rows)
    print(f"{took:.0f} s; {options.out} has the same as JSON.")
    return 130 if interrupted else int(failed)


def run(name: str, rows: list[Row], keep: Callable[[], None]) -> bool:
    """Append the rows of a workload and write each at once; a workload that fails leaves rows that say so."""
    measured, began, first = workload(name), time.perf_counter(), len(rows)
    note = "the workload gave no such row"
    print(f"{name} …", end="", file=sys.stderr, flush=True)
    try:
        for row in measured.rows():
            rows.append(row)
            keep()
    except Exception as error:
        traceback.print_exc()
        note = f"failed: {error}"
    missing = [row for row in measured.GOALS if row not in {row.workload for row in rows[first:]}]
    rows += [Row(row, goal=measured.GOALS[row], note=note) for row in missing]
    keep()
    print(f" {time.perf_counter() - began:.0f} s", file=sys.stderr, flush=True)
    return not (missing or note.startswith("failed"))


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Speed beside accuracy.")
    parser.add_argument("--only", nargs="+", choices=NAMES, metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("--out", type=Path, default=Path("out/bench.json"))
    return parser.parse_args(arguments)
