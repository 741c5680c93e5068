"""The store of a sweep: a folder with one file per call, each written whole or not at all.

    points/ab/ab12….npz   the results of a call, and its record
    failed/ab12….json     a call that failed, with its error
    sweeps/….json         axes and function of each sweep that was run here
    refined/….json        points that refinements have added
    sources/….json        what each fingerprint is made of
    claims/, owners/      calls being computed, and by whom
    partial/              files being written

Files are named by a hash of the parameters and of the fingerprint of the function, so a file never changes.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from biasfree.sweeps import _npz
from biasfree.tables import as_json

#: The entry of a file that holds its record, as JSON.
RECORD = "_record"
_FOLDERS = ("points", "failed", "sweeps", "refined", "sources", "claims", "owners", "partial")


class Damaged(Exception):
    """A stored file that cannot be read."""


@dataclass(frozen=True)
class Store:
    """A folder of results."""

    folder: Path

    def prepare(self) -> None:
        """Make the folders; raises OSError in one sentence if nothing can be written there."""
        try:
            for name in _FOLDERS:
                (self.folder / name).mkdir(parents=True, exist_ok=True)
            if not self._identity.exists():
                self._name()
            self.write(self.folder / "partial" / "probe", b"")
            (self.folder / "partial" / "probe").unlink(missing_ok=True)
        except OSError as error:
            raise unwritable(self.folder, error) from error

    def _name(self) -> None:
        """Name the store, unless another process does so meanwhile: tasks that begin at once agree."""
        name = self.folder / "partial" / uuid.uuid4().hex
        name.write_text(name.name)
        try:
            os.link(name, self._identity)
        except FileExistsError:
            pass
        except OSError:  # a file system without hard links
            os.replace(name, self._identity)
        name.unlink(missing_ok=True)

    @property
    def _identity(self) -> Path:
        return self.folder / "store.txt"

    @cached_property
    def identity(self) -> str:
        """A name that tells this store from others at the same path on other machines."""
        return self._identity.read_text()

    def file(self, name: str) -> Path:
        """The file of a call."""
        return self.folder / "points" / name[:2] / f"{name}.npz"

    def has(self, name: str) -> bool:
        """Whether a call is stored."""
        return self.file(name).exists()

    def names(self) -> set[str]:
        """The names of all stored calls, from the folders alone."""
        found: set[str] = set()
        for folder in _entries(self.folder / "points"):
            found.update(entry.name[:-4] for entry in _entries(folder.path) if entry.name.endswith(".npz"))
        return found

    def failed(self) -> set[str]:
        """The names of all calls that failed."""
        return {entry.name[:-5] for entry in _entries(self.folder / "failed")}

    def write(self, path: Path, content: bytes) -> None:
        """Write a file under another name, then rename it: it is there whole or not at all."""
        partial = self.folder / "partial" / f"{os.getpid()}-{uuid.uuid4().hex}"
        try:
            partial.write_bytes(content)
            try:
                os.replace(partial, path)
            except FileNotFoundError:  # the first file of its folder
                path.parent.mkdir(parents=True, exist_ok=True)
                os.replace(partial, path)
        except BaseException:
            with suppress(OSError):
                partial.unlink(missing_ok=True)
            raise

    def put(self, name: str, content: bytes) -> None:
        """Store the results of a call, and forget an earlier failure."""
        self.write(self.file(name), content)
        (self.folder / "failed" / f"{name}.json").unlink(missing_ok=True)

    def put_failure(self, name: str, record: Mapping[str, Any]) -> None:
        """Store the error of a call."""
        self.write(self.folder / "failed" / f"{name}.json", json.dumps(as_json(record), indent=1).encode())

    def has_failure(self, name: str) -> bool:
        """Whether a call has failed."""
        return (self.folder / "failed" / f"{name}.json").exists()

    def failure(self, name: str) -> dict[str, Any]:
        """The error of a call, as `put_failure` stored it."""
        return read_json(self.folder / "failed" / f"{name}.json")

    def get(self, name: str) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """The results of a call and its record; raises Damaged if its file cannot be read."""
        return unpacked(self.file(name))


def packed(arrays: Mapping[str, np.ndarray], record: Mapping[str, Any]) -> bytes:
    """Results and their record as the bytes of a .npz file."""
    return _npz.write({**arrays, RECORD: np.array(json.dumps(as_json(record)))})


def unpacked(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The arrays and the record of a file; nothing is unpickled."""
    try:
        arrays = _npz.read(path.read_bytes())
        record = json.loads(str(arrays.pop(RECORD)))
    except (ValueError, KeyError) as error:
        raise Damaged(f"{path} cannot be read ({error}); delete it and run the sweep again.") from None
    return arrays, record


def read_json(path: Path) -> dict[str, Any]:
    """A JSON file of the store."""
    try:
        return json.loads(path.read_text())
    except ValueError as error:
        raise ValueError(f"{path} is not readable: {error}; delete it and run the sweep again.") from None


def unwritable(folder: Path, error: OSError) -> OSError:
    """An error in one sentence, for a store that cannot be written to."""
    reason = error.strerror or str(error)
    return OSError(
        error.errno,
        f"cannot write to the store {folder}: {reason}. What is stored there is kept; free space or choose "
        "another folder, and run the sweep again",
    )


def _entries(folder: str | Path) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            yield from (entry for entry in entries if not entry.name.startswith("."))
    except (FileNotFoundError, NotADirectoryError):
        return
