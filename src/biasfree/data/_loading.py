"""Datasets read from `.npz` and `.csv` files, without unpickling."""

from __future__ import annotations

import csv
import os
from math import isfinite
from pathlib import Path

import numpy as np

from biasfree.arguments import public
from biasfree.data._dataset import Dataset
from biasfree.files import contents, existing_file, load_npz

#: What people write for a missing number.
_MISSING = {"", "na", "n/a", "null", "none", "missing", "?", "-", "."}


@public
def load(path: str | os.PathLike[str], *, target: str | None = None) -> Dataset:
    """Read a dataset from a `.npz` file (arrays x and y) or a `.csv` file (column names, then numbers).

    `target` names the column of a `.csv` file that is y, by default the last; the other columns are x.
    """
    path = existing_file(path)
    kind = path.suffix.lower()
    if kind not in (".npz", ".csv"):
        raise ValueError(f"cannot read {path}: it must be a .npz or a .csv file.")
    if kind == ".npz" and target is not None:
        raise ValueError(
            f"target={target!r} names a column of a .csv file, but {path} is a .npz file; leave target out."
        )
    if kind == ".npz":
        arrays = load_npz(path, needs=("x", "y"))
        x, y = arrays["x"], arrays["y"]
    else:
        x, y = _csv(path, target)
    with contents(path, "a dataset"):
        return Dataset(x, y)


def _csv(path: Path, target: str | None) -> tuple[np.ndarray, np.ndarray]:
    lines = _lines(path)
    names = _names(path, lines)
    rows = np.array([_numbers(path, line, names, cells) for line, cells in lines[1:]])
    if not rows.size:
        raise ValueError(f"{path} has column names but no rows of numbers.")
    column = _column(path, names, target)
    return np.delete(rows, column, axis=1), rows[:, column]


def read_columns(path: Path, target: str | None) -> tuple[np.ndarray, np.ndarray]:
    """x and y of a `.csv` file whose target may be text: then y holds strings."""
    lines = _lines(path)
    names = _names(path, lines)
    column = _column(path, names, target)
    short = next((number for number, cells in lines if len(cells) <= column), None)
    if short is not None or len(lines) < 2 or _holds_numbers(lines, column):
        return _csv(path, target)
    kept = [(number, cells[:column] + cells[column + 1 :]) for number, cells in lines]
    rest = names[:column] + names[column + 1 :]
    rows = np.array([_numbers(path, number, rest, cells) for number, cells in kept[1:]])
    if (empty := next((number for number, cells in lines[1:] if not cells[column]), None)) is not None:
        raise ValueError(f"line {empty}, column {names[column]!r} of {path} is empty; remove this sample.")
    return rows, np.array([cells[column] for _, cells in lines[1:]])


def _holds_numbers(lines: list[tuple[int, list[str]]], column: int) -> bool:
    """Whether a column is meant to hold numbers: all of it, or fractions beside what is no number.

    Labels may be whole numbers and words. A missing value among measurements does not make them labels.
    """
    cells = [cells[column] for _, cells in lines[1:]]
    numbers = [number for cell in cells if (number := _number(cell)) is not None]
    missing = {cell.lower() for cell in cells if _number(cell) is None} <= _MISSING
    return missing or any(not number.is_integer() for number in numbers)


def _lines(path: Path) -> list[tuple[int, list[str]]]:
    """(line number, cells) of every line that is not blank; a byte-order mark is skipped."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            return [(reader.line_num, [cell.strip() for cell in cells]) for cells in reader if cells]
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{path} is not a readable .csv file in UTF-8: {error}.") from None


def _names(path: Path, lines: list[tuple[int, list[str]]]) -> list[str]:
    names = lines[0][1] if lines else []
    if len(names) < 2:
        raise ValueError(
            f"{path} must start with the names of at least two columns, separated by commas, got {names}."
        )
    if all(_number(name) is not None for name in names):
        raise ValueError(
            f"{path} must start with a line of column names, got the numbers {', '.join(names)}."
        )
    if "" in names or len(set(names)) < len(names):
        raise ValueError(
            f"{path} must give every column a distinct name, got {names}; "
            "an unnamed first column is often a row index, which pandas omits with index=False."
        )
    return names


def _numbers(path: Path, line: int, names: list[str], cells: list[str]) -> list[float]:
    if len(cells) != len(names):
        raise ValueError(f"line {line} of {path} has {len(cells)} cells, but there are {len(names)} columns.")
    numbers: list[float] = []
    for name, cell in zip(names, cells, strict=True):
        number = _number(cell)
        if number is None or not isfinite(number):
            raise ValueError(
                f"line {line}, column {name!r} of {path} is {cell!r}, which is not a finite number."
            )
        numbers.append(number)
    return numbers


def _number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None


def _column(path: Path, names: list[str], target: str | None) -> int:
    if target is None:
        return len(names) - 1
    if target not in names:
        raise ValueError(f"{path} has no column {target!r}; its columns are {', '.join(names)}.")
    return names.index(target)
