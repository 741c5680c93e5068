"""Files written whole or not at all, folders locked, `.npz` archives read without unpickling."""

from __future__ import annotations

import glob
import math
import os
import re
import sys
import tempfile
import threading
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.lib import format as npy

if TYPE_CHECKING:
    from numpy.typing import NDArray

_EXPANSION = 100
_ALWAYS_READ = 2**28  # bytes
_STATUS = Path("/proc/self/status")
_ASKING = threading.Lock()
#: How the name of a file ends while it is being written.
_PARTIAL = ".partial"


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write to that takes the name `path` only once it is complete."""
    path = Path(path)
    if not path.parent.is_dir():
        raise ValueError(f"cannot write {path}: the folder {path.parent} does not exist; create it first.")
    if path.is_dir():
        raise ValueError(f"cannot write {path}: it is a folder; give the name of a file.")
    remove_partial(path.parent, path.name)
    try:
        handle, temporary = _partial(path)
        try:
            with os.fdopen(handle, "wb") as file:
                yield file
            os.chmod(temporary, 0o666 & ~_umask())
            os.replace(temporary, path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        said = f"cannot write {path}: {error.strerror or error}; make room or choose another folder"
        raise OSError(error.errno, said) from error


def _partial(path: Path) -> tuple[int, str]:
    """A new file beside `path`, locked while it is open, which says that its writer lives."""
    while True:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=_PARTIAL)
        if _lock(handle) is not False and os.fstat(handle).st_nlink:
            return handle, temporary
        os.close(handle)  # another process took it for a dead one's before it was locked


def remove_partial(folder: Path, name: str = "") -> None:
    """Remove what killed processes left of a file they were writing, of the name given or of any."""
    for path in folder.glob(f".{glob.escape(name) or '*'}.*{_PARTIAL}"):
        with suppress(OSError), path.open("rb") as file:
            if _lock(file.fileno()):
                path.unlink()


@contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """Refuses a folder in which another process is; the lock ends with the process, however it ends."""
    if sys.platform == "win32":  # folders cannot be opened there
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        if _lock(handle) is False:
            raise ValueError(
                f"another process is at work in the folder {folder}; wait for its end, or choose another."
            )
        yield
    finally:
        os.close(handle)


def _lock(handle: int) -> bool | None:
    """Lock an open file or folder until it is closed; False if another process has, None if it cannot be."""
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
    """Write named arrays to a `.npz` file; an entry that would need pickling is refused."""
    if as_path(path).suffix.lower() != ".npz":
        raise ValueError(f"cannot write {path}: the name must end in .npz.")
    stored = {name: np.asarray(value) for name, value in arrays.items()}
    for name, value in stored.items():
        if value.dtype.hasobject:
            raise ValueError(f"cannot save {name!r}: it is not an array of numbers or strings.")
    with replacing(path) as file:
        np.savez_compressed(file, **stored)  # type: ignore[arg-type] - no array is called allow_pickle


def load_npz(path: str | os.PathLike[str], *, needs: tuple[str, ...]) -> dict[str, NDArray[Any]]:
    """Read a `.npz` file that must hold the arrays named in `needs`; pickles are refused."""
    path = existing_file(path)
    check_unpacked_size(path, unpacked_size(path))
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


def as_path(path: Any) -> Path:
    """`path` as a Path, refused unless it is a name."""
    try:
        return Path(path)
    except TypeError:
        raise ValueError(
            f"the name of a file is a string or a pathlib.Path, got a {type(path).__name__}."
        ) from None


def existing_file(path: str | os.PathLike[str]) -> Path:
    """`path` as a Path, refused unless it is a file that exists."""
    path = as_path(path)
    if not path.is_file():
        raise ValueError(f"no file {path}; check the path, it is read relative to {Path.cwd()}.")
    return path


def check_unpacked_size(path: str | os.PathLike[str], size: int) -> None:
    """Refuse a file whose contents would take `size` bytes of memory, far more than the file has itself.

    Measured numbers compress by a factor of two or so. Only constants reach a hundred, and of those a small
    file can hold so many that they fill any memory.
    """
    stored = Path(path).stat().st_size
    if size > max(_ALWAYS_READ, _EXPANSION * stored):
        raise ValueError(
            f"{path} has {stored:,} bytes but would take {size:,} in memory, more than {_EXPANSION} times as "
            "many, so it is not read; if you trust it, write it again without compression."
        )


def unpacked_size(path: Path) -> int:
    """The bytes that an archive says to hold, and 0 for what is not an archive."""
    try:
        with zipfile.ZipFile(path) as archive:
            return sum(entry.file_size for entry in archive.infolist())
    except (zipfile.BadZipFile, ValueError, NotImplementedError):  # a reader says what is wrong with it
        return 0


def error_text(error: ValueError | OSError) -> str:
    """What an error says, without the system's number for it."""
    if not isinstance(error, OSError) or error.strerror is None:
        return str(error)
    return error.strerror if error.filename is None else f"{error.filename}: {error.strerror}"


def _read(path: Path) -> dict[str, NDArray[Any]]:
    with path.open("rb") as file:
        if file.read(len(npy.MAGIC_PREFIX)) == npy.MAGIC_PREFIX:
            raise ValueError("it holds one bare array, as np.save writes it")
        file.seek(0)
        archive = np.load(file, allow_pickle=False)  # which unpacks nothing yet
        for entry in archive.zip.infolist():
            _check_entry(archive.zip, entry)
        return {name: archive[name] for name in archive.files}


def _check_entry(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> None:
    """An array of numbers or strings, as large as its header says."""
    with archive.open(entry) as file:
        if file.read(len(npy.MAGIC_PREFIX)) != npy.MAGIC_PREFIX:
            raise ValueError(f"its entry {entry.filename} is not an array")
        file.seek(0)
        first = npy.read_magic(file) == (1, 0)
        shape, _, dtype = (npy.read_array_header_1_0 if first else npy.read_array_header_2_0)(file)
        if dtype.hasobject:
            raise ValueError(f"its entry {entry.filename} is a pickle")
        if math.prod(shape) * dtype.itemsize != entry.file_size - file.tell():
            raise ValueError(f"its entry {entry.filename} is not of the size that it says")


def _umask() -> int:
    """The permissions that new files do not get. Linux says them; elsewhere they are known only by setting
    others for a moment, which one thread at a time may do and which must not open any file to others."""
    try:
        return int(re.findall(r"^Umask:\s*([0-7]+)$", _STATUS.read_text(), re.MULTILINE)[0], 8)
    except (OSError, IndexError):
        with _ASKING:
            current = os.umask(0o077)
            os.umask(current)
        return current
