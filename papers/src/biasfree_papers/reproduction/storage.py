"""The files of a figure: numbers with their origin, pictures, and a record with the hashes of both."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from biasfree.files import load_npz, replacing, save_npz
from biasfree.tables import as_json
from biasfree_papers.named_arrays import AXES, as_arrays, as_dataset

if TYPE_CHECKING:
    import xarray

FILE, RECORD = "numbers.npz", "claims.json"
KINDS = ("png", "pdf")
_FORMAT = 5  # of the record: raised when its entries change
_ORIGIN, _HASH = "origin", "hash of this record"


@dataclass(frozen=True)
class Origin:
    """The origin of numbers: figure, settings, fingerprint, versions, and the duration of the run.

    `content` is the hash of the numbers themselves.
    """

    name: str
    settings: dict[str, Any]
    fingerprint: str
    versions: dict[str, str]
    seconds: float
    content: str


def make_folder(folder: Path) -> None:
    """Make a folder of results if it does not exist."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(
            f"cannot make the folder {folder}: {error.strerror}; choose another --out."
        ) from None


def content(numbers: xarray.Dataset) -> str:
    """The hash of named arrays: their names, axes, types, shapes and values."""
    return _content(as_arrays(numbers))


def _content(arrays: Mapping[str, np.ndarray]) -> str:
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = np.asarray(arrays[name])
        digest.update(f"\0{name}\0{array.dtype.str}\0{array.shape}\0".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def save_numbers(folder: Path, numbers: xarray.Dataset, origin: Origin) -> None:
    """Write the numbers and their origin to one file."""
    arrays = as_arrays(numbers)
    if _ORIGIN in arrays:
        raise ValueError(f"no array may be called {_ORIGIN!r}: that name is taken; rename it.")
    save_npz(folder / FILE, {**arrays, _ORIGIN: np.array(json.dumps(as_json(asdict(origin))))})


def load_numbers(folder: Path) -> tuple[xarray.Dataset, Origin]:
    """The numbers stored in a folder and their origin; changed or damaged ones are refused."""
    arrays = load_npz(folder / FILE, needs=(_ORIGIN,))
    remedy = "they are damaged, or from another version; make them again with `biasfree run`."
    try:
        origin = Origin(**json.loads(str(arrays.pop(_ORIGIN))))
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{folder / FILE} does not name the origin of its numbers ({error}): {remedy}"
        ) from None
    if AXES not in arrays or origin.content != _content(arrays):
        raise ValueError(f"{folder / FILE} does not contain the numbers written to it: {remedy}")
    return as_dataset(arrays), origin


def stored_numbers(folder: Path) -> tuple[xarray.Dataset, Origin] | None:
    """The numbers and their origin, or None if there are none that can be read."""
    if not (folder / FILE).is_file():
        return None
    try:
        return load_numbers(folder)
    except ValueError:  # written by another version, or damaged: it is made anew
        return None


def save_record(
    folder: Path, record: Mapping[str, Any], pictures: Mapping[str, bytes], origin: Origin
) -> None:
    """Write the pictures, by kind, then the record, with the hashes of pictures and numbers and its own."""
    if (folder / RECORD).is_file():
        (folder / RECORD).unlink()  # it has the hashes of the pictures beside it
    for kind, picture in pictures.items():
        with replacing(_picture(folder, kind)) as file:
            file.write(picture)
    hashes = {kind: hashlib.sha256(picture).hexdigest() for kind, picture in pictures.items()}
    whole = {"format": _FORMAT, **record, "numbers": origin.content, "pictures": hashes}
    with replacing(folder / RECORD) as file:
        whole[_HASH] = _hash(whole)
        file.write(json.dumps(whole, indent=1, ensure_ascii=False, allow_nan=False).encode())


def finished_record(folder: Path) -> dict[str, Any] | None:
    """The record of a finished figure; None unless record, numbers and pictures exist, unchanged, in this
    version's format, and belong together."""
    try:
        record = json.loads((folder / RECORD).read_text(encoding="utf-8"))
        if not isinstance(record, dict) or record.pop(_HASH, None) != _hash(record):
            return None
        if (record.get("format"), record.get("figure")) != (_FORMAT, folder.name):
            return None
        pictures = {kind: hashlib.sha256(_picture(folder, kind).read_bytes()).hexdigest() for kind in KINDS}
    except (OSError, ValueError):  # missing or damaged; what is not there is made
        return None
    stored = stored_numbers(folder)
    belongs = stored is not None and record["numbers"] == stored[1].content
    return record if belongs and record["pictures"] == pictures else None


def _picture(folder: Path, kind: str) -> Path:
    return folder / f"{folder.name}.{kind}"


def _hash(record: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()
