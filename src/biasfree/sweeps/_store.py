"""The store of a sweep: a folder with one file per call, each there whole or not at all.

    points/ab/ab12….npz   the results of a call, and its record as JSON in the entry `_record`
    failed/ab12….json     a call that failed, with its error
    sweeps/….json         a sweep that was run here: its axes, and what the version of its function is made of
    refined/….json        points that refinements have added

A file is named by a digest of the parameters and of the version of the function. Nothing here decides who may
compute: two runs at once may compute a point twice, and then write the same file.
"""

from __future__ import annotations

import glob
import io
import json
import os
import uuid
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from biasfree.files import load_npz
from biasfree.tables import as_json

#: What a file is made of: bytes, or what is written as JSON.
Content = bytes | dict[str, Any]
#: The entry of a file that holds its record, as JSON.
_RECORD = "_record"
#: The last bytes of a .npz file begin with this mark; a file that was cut off lacks them.
_END, _END_BYTES = b"PK\x05\x06", 22


@dataclass(frozen=True)
class Store:
    """A folder of results; `flush` waits until the disk has a file before the file gets its name."""

    folder: Path
    flush: bool = True

    def file(self, name: str, failed: bool = False) -> str:
        """The file of a call, or of its failure."""
        return (
            f"{self.folder}/failed/{name}.json" if failed else f"{self.folder}/points/{name[:2]}/{name}.npz"
        )

    def has(self, name: str) -> bool:
        """Whether a call is stored, to the end of its file."""
        try:
            with open(self.file(name), "rb", buffering=0) as file:
                file.seek(-_END_BYTES, os.SEEK_END)
                return file.read(len(_END)) == _END
        except OSError:  # it is not there, or shorter than that
            return False

    def content(self) -> tuple[set[str], set[str]]:
        """The names of all stored calls, from the folders alone, and of those that failed instead.

        Empty files do not count.
        """
        points = glob.iglob("points/*/*.npz", root_dir=self.folder)
        found = {os.path.basename(path)[:-4] for path in points if os.path.getsize(f"{self.folder}/{path}")}
        return found, {path.stem for path in self.folder.glob("failed/*.json")} - found

    def put(self, name: str, content: Content) -> None:
        """Store a call: the bytes of its results, or the record of its failure."""
        self.write(self.file(name, failed=not isinstance(content, bytes)), content)

    def write(self, path: str | Path, content: Content) -> None:
        """Write bytes or JSON under another name, flush, rename: the file is there whole or not at all."""
        if not isinstance(content, bytes):
            content = json.dumps(as_json(content), indent=1).encode()
        partial = f"{path}.{uuid.uuid4().hex}"
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(partial, "wb") as file:
                file.write(content)
                file.flush()
                if self.flush:
                    os.fsync(file.fileno())
            os.replace(partial, path)
        except OSError as error:
            with suppress(OSError):  # it was never made, or its disk is gone
                os.unlink(partial)
            raise OSError(
                error.errno,
                f"cannot write to the store {self.folder}: {error.strerror or error}. What is stored there "
                "is kept; free space or choose another folder, and run the sweep again",
            ) from error

    def get(self, name: str) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """The results of a call and its record; raises ValueError if the file is damaged."""
        arrays = load_npz(self.file(name), needs=(_RECORD,))
        return arrays, json.loads(str(arrays.pop(_RECORD)))


def packed(arrays: Mapping[str, np.ndarray], record: Mapping[str, Any]) -> bytes:
    """Results and their record as the bytes of a .npz file."""
    content = io.BytesIO()
    entries: dict[str, Any] = {**arrays, _RECORD: np.array(json.dumps(record))}
    np.savez(content, **entries)
    return content.getvalue()


def read_json(path: str | Path) -> dict[str, Any]:
    """A JSON file of the store."""
    try:
        return json.loads(Path(path).read_text())
    except ValueError as error:
        raise ValueError(f"{path} is not readable: {error}; delete it and run the sweep again.") from None
