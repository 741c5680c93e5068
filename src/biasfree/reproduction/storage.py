"""The numbers of a run on disk, with all that says where they come from in the same file."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from biasfree.experiments.experiment import Numbers
from biasfree.files import load_npz, save_npz
from biasfree.tables import plain

FILE = "numbers.npz"
_ORIGIN = "origin"


@dataclass(frozen=True)
class Origin:
    """Where numbers come from: what was run, with which settings and versions, and how long it took."""

    name: str
    settings: dict[str, Any]
    fingerprint: str
    versions: dict[str, str]
    seconds: float


def save_numbers(folder: Path, numbers: Numbers, origin: Origin) -> None:
    """Write the numbers and their origin to one file."""
    if _ORIGIN in numbers:
        raise ValueError(f"no array may be called {_ORIGIN!r}: that name is taken; rename it.")
    save_npz(folder / FILE, {**numbers, _ORIGIN: np.array(json.dumps(plain(asdict(origin))))})


def load_numbers(folder: Path) -> tuple[Numbers, Origin]:
    """The numbers stored in a folder and their origin."""
    arrays = load_npz(folder / FILE, needs=(_ORIGIN,))
    try:
        record = json.loads(str(arrays.pop(_ORIGIN)))
        origin = Origin(**record)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{folder / FILE} does not say where its numbers come from: {error}.") from None
    return arrays, origin


def stored_numbers(folder: Path) -> tuple[Numbers, Origin] | None:
    """The same, or None where there are none that can be read."""
    if not (folder / FILE).is_file():
        return None
    try:
        return load_numbers(folder)
    except ValueError:  # written by another version, or damaged: it is made anew
        return None
