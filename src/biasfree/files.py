"""Atomic writing of files, locks on folders, and `.npz` archives read without unpickling."""

from __future__ import annotations

import glob
import io
import math
import os
import re
import secrets
import sys
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

_EXPANSION = 100
_ALWAYS_READ = 2**28  # bytes
#: Suffix of a file that is being written.
_PARTIAL = ".partial"


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write to, renamed to `path` only after it is complete; a link stays, its target is replaced.

    What is no regular file, such as a pipe, a terminal or the output of this process, is written into.
    """
    path = writable(path)
    target = Path(os.path.realpath(path))
    stream = _own_output(path)
    try:
        if stream is None and (target.is_file() or not path.exists()):
            with _renamed(target) as file:
                yield file
        else:
            buffer = io.BytesIO()  # zip archives and pictures need a file that can seek
            yield buffer
            print(end="", flush=True)  # what was printed before comes first, and stays
            with open(path if stream is None else os.dup(stream), "wb") as file:
                file.write(buffer.getvalue())
    except OSError as error:
        message = f"cannot write {path}: {error.strerror or error}; free space or choose another folder"
        raise OSError(error.errno, message) from error


def writable(path: str | os.PathLike[str]) -> Path:
    """`path` as a Path; raises ValueError if it is a folder or in none."""
    path = Path(path)
    if not path.parent.is_dir():
        raise ValueError(f"cannot write {path}: the folder {path.parent} does not exist; create it first.")
    if path.is_dir():
        raise ValueError(f"cannot write {path}: it is a folder; pass the name of a file.")
    return path


@contextmanager
def _renamed(path: Path) -> Iterator[BinaryIO]:
    """A new file, renamed to `path` at the end."""
    remove_partial(path.parent, path.name)
    partial = _partial(path)
    try:
        with partial as file:
            yield file
        os.replace(partial.name, path)
    except BaseException:
        Path(partial.name).unlink(missing_ok=True)
        raise


def _own_output(path: Path) -> int | None:
    """The descriptor of this process's output that `path` names, as /dev/stdout does."""
    for stream in (1, 2):
        with suppress(OSError):  # it is closed, or there is no such file
            if os.path.samestat(os.fstat(stream), path.stat()):
                return stream
    return None


def _partial(path: Path) -> BinaryIO:
    """A new file beside `path`; it stays locked while its writer lives."""
    while True:
        file = path.with_name(f".{path.name}.{secrets.token_hex(4)}{_PARTIAL}").open("xb")
        if try_lock(file.fileno()) is not False and os.fstat(file.fileno()).st_nlink:
            return file
        file.close()  # another process removed it as abandoned before it was locked


def remove_partial(folder: Path, name: str = "") -> None:
    """Remove incomplete files that killed processes left in `folder`: of the given name, or all."""
    for path in folder.glob(f".{glob.escape(name) or '*'}.*{_PARTIAL}"):
        with suppress(OSError), path.open("rb") as file:
            if try_lock(file.fileno()):
                path.unlink()


@contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """Lock a folder; raises ValueError if another process holds it. The lock ends with the process."""
    if sys.platform == "win32":  # folders cannot be opened there
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        if try_lock(handle) is False:
            raise ValueError(
                f"another process is using the folder {folder}; wait until it ends, or choose another."
            )
        yield
    finally:
        os.close(handle)


def try_lock(handle: int) -> bool | None:
    """Lock an open file or folder until it is closed: False if another process holds it, None if locks
    are not supported."""
    if sys.platform == "win32":
        return None
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # some network file systems have no locks
        return None
    return True


def save_npz(path: str | os.PathLike[str], arrays: Mapping[str, Any]) -> None:
    """Write named arrays to a `.npz` file; raises ValueError for an entry that would need pickling."""
    if as_path(path).suffix.lower() != ".npz":
        raise ValueError(f"cannot write {path}: the name must end in .npz.")
    stored = {name: np.asarray(value) for name, value in arrays.items()}
    for name, value in stored.items():
        if value.dtype.hasobject:
            raise ValueError(f"cannot save {name!r}: it is not an array of numbers or strings.")
    with replacing(path) as file:
        np.savez_compressed(file, **stored)  # type: ignore[arg-type]  # no array is called allow_pickle


def load_npz(path: str | os.PathLike[str], *, needs: tuple[str, ...]) -> dict[str, NDArray[Any]]:
    """Read a `.npz` file that must contain the arrays `needs`; raises ValueError if it contains pickles."""
    path = existing_file(path)
    check_unpacked_size(path, unpacked_size(path))
    try:
        arrays = _read(path)
    except Exception as error:  # zipfile, zlib, struct and NumPy all raise for damaged archives
        if "pickle" in str(error):
            raise ValueError(
                f"{path} is not a .npz file of numeric arrays, or contains pickled objects, which are never "
                f"loaded; save numeric arrays {', '.join(needs)} with np.savez."
            ) from None
        raise ValueError(f"{path} is not a readable .npz file: {error}.") from None
    if missing := [name for name in needs if name not in arrays]:
        raise ValueError(
            f"{path} lacks {', '.join(missing)}; it contains {', '.join(arrays) or 'nothing'} "
            f"and needs {', '.join(needs)}."
        )
    return arrays


def numbered(
    path: str | os.PathLike[str], arrays: Mapping[str, NDArray[Any]], letter: str
) -> tuple[Any, ...]:
    """The arrays named W1, W2, … for the letter W, in order; raises ValueError if one is missing."""
    found = [name for name in arrays if re.fullmatch(f"{letter}[0-9]+", name)]
    expected = [f"{letter}{i}" for i in range(1, len(found) + 1)]
    if set(found) != set(expected):
        raise ValueError(f"{path} must contain {', '.join(expected)}, got {', '.join(found)}.")
    return tuple(arrays[name] for name in expected)


def single(path: str | os.PathLike[str], arrays: Mapping[str, NDArray[Any]], name: str) -> Any:
    """The number or string in the array `name`, which must have one entry."""
    if arrays[name].size != 1:
        raise ValueError(f"{name} in {path} must be a single value, got shape {arrays[name].shape}.")
    return arrays[name].item()


@contextmanager
def contents(path: str | os.PathLike[str], what: str) -> Iterator[None]:
    """Errors in what a file contains name the file and what it was read as."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{path} does not contain {what}: {error}") from None


def as_path(path: Any) -> Path:
    """`path` as a Path; raises ValueError unless it is a string or a Path."""
    try:
        return Path(path)
    except TypeError:
        raise ValueError(
            f"the name of a file is a string or a pathlib.Path, got a {type(path).__name__}."
        ) from None


def existing_file(path: str | os.PathLike[str]) -> Path:
    """`path` as a Path; raises ValueError unless the file exists."""
    path = as_path(path)
    if not path.is_file():
        raise ValueError(f"no file {path}; check the path, which is relative to {Path.cwd()}.")
    return path


def check_unpacked_size(path: str | os.PathLike[str], size: int) -> None:
    """Raise ValueError if a file would unpack to `size` bytes, many times its own size.

    Measured numbers compress about twofold. Only constants compress a hundredfold, and a small file of
    constants could fill any memory.
    """
    stored = Path(path).stat().st_size
    if size > max(_ALWAYS_READ, _EXPANSION * stored):
        raise ValueError(
            f"{path} has {stored:,} bytes but needs {size:,} in memory, more than {_EXPANSION} times as "
            "many, so it is not read; if you trust it, save it again without compression."
        )


def unpacked_size(path: Path) -> int:
    """The unpacked size in bytes that an archive declares; 0 for other files."""
    try:
        with zipfile.ZipFile(path) as archive:
            return sum(entry.file_size for entry in archive.infolist())
    except (zipfile.BadZipFile, ValueError, NotImplementedError):  # the reader raises a clearer error
        return 0


def error_text(error: ValueError | OSError) -> str:
    """The message of an error, without the error number of the operating system."""
    if not isinstance(error, OSError) or error.strerror is None:
        return str(error)
    return error.strerror if error.filename is None else f"{error.filename}: {error.strerror}"


def _read(path: Path) -> dict[str, NDArray[Any]]:
    with path.open("rb") as file:
        if file.read(len(npy.MAGIC_PREFIX)) == npy.MAGIC_PREFIX:
            raise ValueError("it contains one array written by np.save")
        file.seek(0)
        archive = np.load(file, allow_pickle=False)  # nothing is unpacked yet
        for entry in archive.zip.infolist():
            _check_entry(archive.zip, entry)
        return {name: archive[name] for name in archive.files}


def _check_entry(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> None:
    """Raise ValueError unless the entry is an array of numbers or strings of the size in its header."""
    with archive.open(entry) as file:
        if file.read(len(npy.MAGIC_PREFIX)) != npy.MAGIC_PREFIX:
            raise ValueError(f"its entry {entry.filename} is not an array")
        file.seek(0)
        first = npy.read_magic(file) == (1, 0)
        shape, _, dtype = (npy.read_array_header_1_0 if first else npy.read_array_header_2_0)(file)
        if dtype.hasobject:
            raise ValueError(f"its entry {entry.filename} is a pickle")
        if math.prod(shape) * dtype.itemsize != entry.file_size - file.tell():
            raise ValueError(f"its entry {entry.filename} does not have the size given in its header")
