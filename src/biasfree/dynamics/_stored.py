"""Native functions that Numba stores on disk; a file that cannot be used costs a compilation, not a call."""

from __future__ import annotations

import hashlib
import pickle
import warnings
from collections.abc import Callable
from glob import escape
from pathlib import Path
from typing import Any

from numba import njit
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.serialize import dumps


def stored(function: Callable[..., Any], **options: Any) -> Any:
    """The function, compiled when it is first called; stored on disk where a folder can be written."""
    compiled = njit(**options)(function)
    try:
        compiled._cache = _Cache(function)  # as `cache=True` does, with a cache that raises nothing
    except RuntimeError as error:
        if "cannot cache function" not in str(error):
            raise
    return compiled


def remove(path: Path) -> None:
    """Remove a file, or an empty folder in its place."""
    if path.is_dir():
        path.rmdir()
    else:
        path.unlink(missing_ok=True)


def say_unused(folder: str | Path, error: Exception) -> None:
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
            say_unused(self.cache_path, error)
            self._remove_files()
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except OSError as error:
            say_unused(self.cache_path, error)
            self._remove_files()

    def _remove_files(self) -> None:
        try:
            for file in Path(self.cache_path).glob(f"{escape(self._impl.filename_base)}.*nb[ci]"):
                remove(file)
        except OSError:  # they stay: nothing is loaded or stored here
            self.disable()
