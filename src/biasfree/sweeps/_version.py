"""The version of a function: the text that defines it, the values it closes over, the packages it runs on.

The text is that of the whole module, script or cell. Of a cell, which is not all of its notebook, the data
that the function reads from other cells count too, and the functions of cells that it calls. Modules that the
function imports and files that it reads are not seen.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import json
import linecache
import os
import pickle
import sys
from collections.abc import Callable
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from biasfree.sweeps._grid import digest, title
from biasfree.versions import versions

_PACKAGES = ("biasfree", "numpy", "scipy", "numba", "jax")
_INSTALLED = (*sys.stdlib_module_names, *_PACKAGES)
_DATA = (bool, int, float, complex, str, list, tuple, dict, set, np.ndarray)


@dataclasses.dataclass(frozen=True, eq=False)
class Version:
    """A digest, what it is made of by name, and the text and file of the function for readers."""

    digest: str
    parts: dict[str, str]
    text: str
    file: str


def version_of(function: Callable[..., Any], given: str | None) -> Version:
    """The version of a function; one that has none is refused unless the user has `given` it."""
    parts: dict[str, str] = {}
    try:
        parts["its values"] = _hashed(function, parts)
        unseen = "" if len(parts) > 1 else "no source is found"
    except Exception as error:  # whatever its closures raise
        unseen = f"{error}"
    if unseen and given is None:
        advice = "pass version=, and another one whenever it changes."
        raise ValueError(f"{title(function)} has no version ({unseen}); {advice}")
    found = versions()
    parts |= {package: found[package] for package in _PACKAGES}
    if given is not None:
        parts["version="] = given
    file = str(getattr(getattr(inspect.unwrap(function), "__code__", None), "co_filename", ""))
    return Version(digest(json.dumps(parts, sort_keys=True)), parts, _source(file), file)


def _hashed(function: Callable[..., Any], parts: dict[str, str]) -> str:
    """The hash of a callable's values; the text of every function of the user in it is added to `parts`."""
    from joblib.hashing import NumpyHasher

    known: set[int] = set()

    class Hasher(NumpyHasher):
        """Functions stand for their text and values; joblib would look them up by name."""

        def save(self, value: Any) -> None:
            value = value.__wrapped__ if isinstance(value, functools._lru_cache_wrapper) else value
            installed = str(getattr(value, "__module__", "")).partition(".")[0] in _INSTALLED
            if isinstance(value, FunctionType) and not (installed and known):
                first = id(value) not in known
                known.add(id(value))
                value = [value.__qualname__, _read(value, parts) if first else ""]
            elif isinstance(value, MethodType):
                value = [value.__func__, value.__self__]
            elif isinstance(value, ModuleType):
                value = value.__name__
            super().save(value)

    called = type(function).__call__
    whole = [called, vars(function)] if isinstance(called, FunctionType) else function
    return str(Hasher("md5").hash(whole))


def _read(function: FunctionType, parts: dict[str, str]) -> dict[str, Any]:
    """The values that a function closes over, its defaults, and what it reads from other cells."""
    code = function.__code__
    text = _source(code.co_filename)
    if not text:
        raise ValueError(f"{function.__name__} has no source")
    parts[f"the text of {function.__name__}"] = digest(text)
    values = dict(inspect.getclosurevars(function).nonlocals)
    values["defaults"] = [function.__defaults__, function.__kwdefaults__]
    if os.path.exists(code.co_filename):
        return values
    for name in _names(code) & function.__globals__.keys():
        value = function.__globals__[name]
        if isinstance(value, _DATA) or getattr(value, "__module__", "") == "__main__":
            values[name] = value
    return values


def _names(code: CodeType) -> set[str]:
    """The global names and attributes that code mentions, that of inner functions too."""
    inner = [_names(constant) for constant in code.co_consts if isinstance(constant, CodeType)]
    return set(code.co_names).union(*inner)


def _source(file: str) -> str:
    """The text of a module, script or cell; empty if there is none."""
    linecache.checkcache(file)
    return "".join(linecache.getlines(file))


def differences(function: Any, expected: Version) -> list[str]:
    """What a process that has loaded a function has otherwise: packages, or the text of its module."""
    here = versions()
    found = [name for name in _PACKAGES if here[name] != expected.parts[name]]
    module = sys.modules.get(getattr(function, "__module__", ""))
    if module is not None and getattr(module, getattr(function, "__name__", ""), None) is function:
        text = "".join(linecache.getlines(str(getattr(module, "__file__", ""))))
        found += [f"the text of {module.__name__}"] if expected.text not in ("", text) else []
    return found


def pickled(function: Callable[..., Any]) -> bytes:
    """A function as bytes for other processes; raises ValueError if it cannot be sent."""
    import joblib

    try:
        return pickle.dumps(joblib.wrap_non_picklable_objects(function, keep_wrapper=False))
    except Exception as error:  # whatever its closures and globals raise
        why = f"cannot be sent to other processes ({type(error).__name__}: {error})"
        raise ValueError(f"{title(function)} {why}; make what it uses inside the function.") from None
