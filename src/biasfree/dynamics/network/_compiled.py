"""Native functions: compiled once by Numba for all shapes, without the GIL, and stored on disk.

Numba compiles a stored function again if its own file has changed, but not if a function that it calls has.
So all stored functions are removed once any file has changed that one of them is compiled from.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from numba import njit

from biasfree.dynamics._stored import remove, say_unused, stored

#: Division by zero gives infinity, as in NumPy.
_NATIVE: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
_COUNTING: dict[str, Any] = {**_NATIVE, "_nrt": True}
#: Without counts of references, which two thirds of the time of small networks went to: Numba counts every
#: array of a record wherever it is handed on. The caller from Python holds all arrays meanwhile.
_BORROWING: dict[str, Any] = {**_NATIVE, "_nrt": False}
_INNER = {"no_cpython_wrapper": True}
#: Folders of stored functions that were looked at in this process, and whether they can be used.
_FOLDERS: dict[Path, bool] = {}
_SAID: list[str] = []
_STAMP = "biasfree-native-"


def native(function: Callable[..., Any]) -> Any:
    """The function, compiled when it is first called, and stored on disk where a folder can be written; it
    makes no arrays."""
    return _stored(function, _BORROWING)


def native_allocating(function: Callable[..., Any]) -> Any:
    """`native`, but it may make arrays and return them."""
    return _stored(function, _COUNTING)


def inner(function: Callable[..., Any]) -> Any:
    """A function that only native ones call; it makes no arrays."""
    return njit(**_BORROWING, **_INNER)(function)


def summing(function: Callable[..., Any]) -> Any:
    """`inner`, with sums that the compiler may reorder, always in the same way for one shape."""
    return njit(fastmath={"contract", "reassoc"}, **_BORROWING, **_INNER)(function)


def allocating(function: Callable[..., Any]) -> Any:
    """`inner`, but it may make arrays for itself; only one that may make some, too, can take them from it."""
    return njit(**_COUNTING, **_INNER)(function)


def view(function: Callable[..., Any]) -> Any:
    """A part of a function, which returns views of arrays."""
    return njit(inline="always", **_NATIVE, **_INNER)(function)


def _stored(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    compiled = stored(function, **options, no_cpython_wrapper=False)
    if compiled.stats.cache_path is not None and not _current(Path(compiled.stats.cache_path)):
        compiled._cache.disable()
    return compiled


def _current(folder: Path) -> bool:
    """Whether the stored functions of a folder can be used; those that other sources made are removed."""
    if folder not in _FOLDERS:
        stamp = folder / f"{_STAMP}{_digest()}"
        try:
            if not stamp.exists():
                _clear(folder)
                stamp.touch()
            _FOLDERS[folder] = True
        except OSError as error:  # what other sources made may still be there
            say_unused(folder, error)
            _FOLDERS[folder] = False
    return _FOLDERS[folder]


def _clear(folder: Path) -> None:
    """Remove the stored functions of a folder; says once what that means."""
    for old in [*folder.glob("*.nb[ci]"), *folder.glob(f"{_STAMP}*")]:
        remove(old)
    folder.mkdir(parents=True, exist_ok=True)
    if not _SAID:
        _SAID.append("compiling")
        print("biasfree: compiling its simulators; this is done once, in about a minute", file=sys.stderr)


@cache
def _digest() -> str:
    """A digest of the files that native functions are compiled from."""
    sources = sorted(Path(__file__).parents[1].rglob("*.py"))
    return hashlib.sha256(b"\0".join(source.read_bytes() for source in sources)).hexdigest()[:16]
