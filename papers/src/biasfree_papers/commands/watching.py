"""Progress of figures: a live line per figure on a terminal, and a line when a figure is done."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import typer

from biasfree_papers.commands.summary import columns, figure_line
from biasfree_papers.experiment import Experiment
from biasfree_papers.reproduction.storage import finished_record


class Watcher:
    """Shows the progress of figures while they are made: a context manager, called with each message."""

    def __init__(self, experiments: Sequence[Experiment], out: Path):
        self._out = out
        self._weights = {experiment.name: experiment.seconds for experiment in experiments}
        self._began: dict[str, float] = {}
        self._lines: dict[str, Any] = {}
        self._bar: Any = _bar()
        self._total: Any = None

    def __enter__(self) -> Watcher:
        self._bar.start()
        self._total = self._bar.add_task("all figures", total=sum(self._weights.values()), text="")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def __call__(self, name: str, event: str, text: str) -> None:
        """Show an event of the figure `name`: "began", "says", "warns" or "ended"."""
        if event == "began":
            self._begin(name)
        elif event == "says":
            self._bar.update(self._lines[name], text=text)
        elif event == "warns":
            self._print(f"{name}: {text}", err=True)
        elif event == "ended":
            self._end(name, text)

    def _begin(self, name: str) -> None:
        self._began[name] = time.perf_counter()
        self._lines[name] = self._bar.add_task(name, total=None, text="")

    def _end(self, name: str, failure: str) -> None:
        seconds = time.perf_counter() - self._began[name]
        if failure:
            self._print(f"{name:<12} {seconds:>4.0f} s  failed")
            self._print(f"biasfree: {name}: {failure}", err=True)
        elif (record := finished_record(self._out / name)) is not None:
            self._print(figure_line(record, seconds, columns()))
        self._bar.remove_task(self._lines.pop(name))
        self._bar.advance(self._total, self._weights[name])

    def _print(self, text: object, *, err: bool = False) -> None:
        if self._bar.disable:
            typer.echo(str(text), err=err)
        else:
            self._bar.console.print(text, markup=False, highlight=False)


def _bar() -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=20),
        TimeElapsedColumn(),
        TextColumn("{task.fields[text]}"),
    )
    off = not sys.stderr.isatty()
    return Progress(*columns, console=Console(stderr=True), transient=True, disable=off)
