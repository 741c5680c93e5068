"""Native functions: compiled once by Numba for all shapes, without the GIL, and stored on disk.

Numba compiles a stored function again if its own file has changed, but not if a function that it calls has.
So all stored functions are removed once any file has changed that one of them is compiled from. A stored file
that cannot be used costs a compilation, not a call.
"""

from __future__ import annotations

import hashlib
import pickle
import sys
import warnings
from collections.abc import Callable
from functools import cache
from glob import escape
from pathlib import Path
from typing import Any

from numba import njit
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.serialize import dumps

#: Division by zero gives infinity, as in NumPy.
_NATIVE: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
_COUNTING: dict[str, Any] = {**_NATIVE, "_nrt": True}
#: Without counts of references, which two thirds of the time of small networks went to: Numba counts every
#: array of a record wherever it is handed on. The caller from Python holds all arrays meanwhile.
_BORROWING: dict[str, Any] = {**_NATIVE, "_nrt": False}
#: Folders of stored functions that were looked at in this process, and whether they can be used.
_FOLDERS: dict[Path, bool] = {}
_SAID: list[str] = []
_STAMP = "biasfree-native-"


class _Part(JITCodeLibrary):
    """Code for native callers, optimized and made machine code as a part of theirs: Numba would do so for it
    alone, too, and for whatever it calls, again in every caller, which took half of the time."""

    def _optimize_final_module(self) -> None:
        self._finalized = True
        self._get_module_for_linking()  # a copy, for the callers
        for function in self.get_defined_functions():
            function.linkage = "available_externally"  # so that no machine code is made of it


class _PartCompiler(Compiler):
    """Numba's compiler, of such parts."""

    def __init__(self, typing: Any, target: Any, library: Any, *given: Any):
        super().__init__(typing, target, library or _Part(target.codegen(), "part"), *given)


_INNER: dict[str, Any] = {"no_cpython_wrapper": True, "pipeline_class": _PartCompiler}


def native(function: Callable[..., Any]) -> Any:
    """The function, compiled when Python first calls it, and stored on disk where a folder can be written; it
    makes no arrays. For native callers it is `inner`."""
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
    """A function that returns views of arrays: its lines stand for it in every caller."""
    return njit(inline="always", **_NATIVE, **_INNER)(function)


def _stored(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    compiled, part = njit(**options)(function), njit(**options, **_INNER)(function)
    compiled.get_call_template, compiled.get_overload = part.get_call_template, part.get_overload
    try:
        compiled._cache = _Cache(function)  # as `cache=True` does, with a cache that raises nothing
    except RuntimeError as error:
        if "cannot cache function" not in str(error):
            raise
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
            _say_unused(folder, error)
            _FOLDERS[folder] = False
    return _FOLDERS[folder]


def _clear(folder: Path) -> None:
    """Remove the stored functions of a folder; says once what that means."""
    for old in [*folder.glob("*.nb[ci]"), *folder.glob(f"{_STAMP}*")]:
        _remove(old)
    folder.mkdir(parents=True, exist_ok=True)
    if not _SAID:
        _SAID.append("compiling")
        print("biasfree: compiling its simulators; this is done once, in half a minute", file=sys.stderr)


@cache
def _digest() -> str:
    """A digest of the files that native functions are compiled from."""
    sources = sorted(Path(__file__).parents[1].rglob("*.py"))
    return hashlib.sha256(b"\0".join(source.read_bytes() for source in sources)).hexdigest()[:16]


def _remove(path: Path) -> None:
    """Remove a file, or an empty folder in its place."""
    if path.is_dir():
        path.rmdir()
    else:
        path.unlink(missing_ok=True)


def _say_unused(folder: str | Path, error: Exception) -> None:
    """Warn that what is stored is not used, once per reason."""
    warnings.warn(
        f"compiled functions in {folder} cannot be used ({type(error).__name__}: {error}): they are compiled "
        "anew, for up to a minute; if this comes again, set NUMBA_CACHE_DIR to a folder that you can write.",
        RuntimeWarning,
        stacklevel=2,
    )


class _Checked(CompileResultCacheImpl):
    """Machine code with its digest, which Numba would execute whatever became of it."""

    def reduce(self, cres: Any) -> Any:
        code = dumps(super().reduce(cres))
        return self._digest(code), code

    def rebuild(self, target_context: Any, payload: Any) -> Any:
        digest, code = payload
        if digest != self._digest(code):
            raise ValueError(f"the code of {self.filename_base} is damaged")
        return super().rebuild(target_context, pickle.loads(code))

    def _digest(self, code: bytes) -> str:
        return hashlib.sha256(self.filename_base.encode() + code).hexdigest()


class _Cache(FunctionCache):
    """Files of one function, removed if they cannot be read; without them it is compiled and stored again."""

    _impl_class = _Checked

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception as error:  # unpickling a damaged file may raise anything
            _say_unused(self.cache_path, error)
            self._remove_files()
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except OSError as error:
            _say_unused(self.cache_path, error)
            self._remove_files()

    def _remove_files(self) -> None:
        try:
            for file in Path(self.cache_path).glob(f"{escape(self._impl.filename_base)}.*nb[ci]"):
                _remove(file)
        except OSError:  # they stay: nothing is loaded or stored here
            self.disable()
