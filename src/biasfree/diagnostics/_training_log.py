"""Logs of a model in training: a CSV file, or a writer of scalars such as TensorBoard's."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from biasfree.files import as_path


class CsvLog:
    """A CSV file to which rows are appended, each whole: a run that is stopped leaves no half line.

    An existing file is continued if it has the same columns.
    """

    def __init__(self, path: str | os.PathLike[str], columns: tuple[str, ...]):
        self.path = as_path(path)
        if not self.path.parent.is_dir():
            raise ValueError(f"cannot write {path}: the folder {self.path.parent} does not exist.")
        self._header = ",".join(columns)
        begun = _first_line(self.path)
        if begun not in ("", self._header):
            raise ValueError(
                f"{path} begins with {begun[:60]!r}, not {self._header!r}; choose another name for the log."
            )

    def append(self, values: tuple[Any, ...]) -> None:
        """Append a row, in one write."""
        with self.path.open("ab+", buffering=0) as file:
            size = file.seek(0, os.SEEK_END)
            begin = "" if size else f"{self._header}\n"
            if size:
                file.seek(size - 1)
                begin = "" if file.read(1) == b"\n" else "\n"  # a full disk cut the last line
            file.write(f"{begin}{','.join(map(repr, values))}\n".encode())


def check_writer(writer: Any) -> Any:
    """The writer; raises ValueError unless it has `add_scalar(name, value, step)`."""
    if not callable(getattr(writer, "add_scalar", None)):
        raise ValueError(
            f"writer must have add_scalar(name, value, step), as TensorBoard's SummaryWriter, got a "
            f"{type(writer).__name__}."
        )
    return writer


def _first_line(path: Path) -> str:
    if not path.exists():
        return ""
    with path.open(encoding="utf-8", errors="replace") as file:
        return file.readline(1000).rstrip("\r\n")
