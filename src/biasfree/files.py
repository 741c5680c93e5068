"""Files written whole or not at all, and `.npz` archives read without unpickling."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write to that takes the name `path` only once it is complete."""
    path = Path(path)
    if not path.parent.is_dir():
        raise ValueError(f"cannot write {path}: the folder {path.parent} does not exist; create it first.")
    if path.is_dir():
        raise ValueError(f"cannot write {path}: it is a folder; give the name of a file.")
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def save_npz(path: str | os.PathLike[str], arrays: Mapping[str, Any]) -> None:
    """Write named arrays to a `.npz` file; an entry that would need pickling is refused."""
    if Path(path).suffix.lower() != ".npz":
        raise ValueError(f"cannot write {path}: the name must end in .npz.")
    stored = {name: np.asarray(value) for name, value in arrays.items()}
    for name, value in stored.items():
        if value.dtype.hasobject:
            raise ValueError(f"cannot save {name!r}: it is not an array of numbers or strings.")
    with replacing(path) as file:
        np.savez_compressed(file, **stored)  # type: ignore[arg-type] - no array is called allow_pickle


def load_npz(path: str | os.PathLike[str], *, needs: tuple[str, ...]) -> dict[str, NDArray[Any]]:
    """Read a `.npz` file that must hold the arrays named in `needs`; pickles are refused."""
    path = existing(path)
    try:
        arrays = _read(path)
    except (
        Exception
    ) as error:  # a damaged archive fails in zipfile, zlib, struct or NumPy, each in its own way
        if "pickle" in str(error):
            raise ValueError(
                f"{path} is not a plain .npz file or holds pickled objects, which are never loaded; "
                f"save plain numeric arrays {', '.join(needs)} with np.savez."
            ) from None
        raise ValueError(f"{path} is not a readable .npz file: {error}.") from None
    if missing := [name for name in needs if name not in arrays]:
        raise ValueError(
            f"{path} lacks {', '.join(missing)}; it holds {', '.join(arrays) or 'nothing'}, "
            f"and should hold {', '.join(needs)}."
        )
    return arrays


def numbered(
    path: str | os.PathLike[str], arrays: Mapping[str, NDArray[Any]], letter: str
) -> tuple[Any, ...]:
    """The arrays named W1, W2, … for the letter W, in order; a gap is refused."""
    found = [name for name in arrays if re.fullmatch(f"{letter}[0-9]+", name)]
    expected = [f"{letter}{i}" for i in range(1, len(found) + 1)]
    if set(found) != set(expected):
        raise ValueError(f"{path} must hold {', '.join(expected)}, got {', '.join(found)}.")
    return tuple(arrays[name] for name in expected)


def single(path: str | os.PathLike[str], arrays: Mapping[str, NDArray[Any]], name: str) -> Any:
    """The one number or string that the array `name` holds."""
    if arrays[name].size != 1:
        raise ValueError(f"{name} in {path} must be a single value, got shape {arrays[name].shape}.")
    return arrays[name].item()


def existing(path: str | os.PathLike[str]) -> Path:
    """`path` as a Path, refused unless it is a file that exists."""
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"no file {path}; check the path, it is read relative to {Path.cwd()}.")
    return path


def _read(path: Path) -> dict[str, NDArray[Any]]:
    with path.open("rb") as file:
        archive = np.load(file, allow_pickle=False)
        if not isinstance(archive, np.lib.npyio.NpzFile):
            raise ValueError("it holds one bare array, as np.save writes it")
        arrays = {name: archive[name] for name in archive.files}
    if foreign := [name for name, value in arrays.items() if not isinstance(value, np.ndarray)]:
        raise ValueError(f"its entry {foreign[0]} is not an array")
    return arrays


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
