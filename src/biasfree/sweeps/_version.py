"""The version of a function: the text that defines it, the values it closes over, the packages it runs on.

The text is that of the whole module, script or cell. Of a cell, which is not all of its notebook, the numbers,
strings and arrays that the function reads from other cells count too, and the cells of the functions that it
calls. Modules that the function imports and files that it reads are not seen.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import io
import json
import linecache
import os
import pickle
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import blake2b
from importlib import metadata
from pathlib import PurePath
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from biasfree._version import __version__

_PACKAGES = ("numpy", "scipy", "numba", "jax")
_CACHED = type(functools.lru_cache(len))


@dataclasses.dataclass(frozen=True)
class Version:
    """A digest, what it is made of by name, and the text and file of the function for readers."""

    digest: str
    parts: dict[str, str]
    text: str
    file: str

    def changes(self, older: Mapping[str, str]) -> tuple[str, ...]:
        """The names of the parts that differ from those of another version."""
        names = sorted(self.parts.keys() | older.keys())
        return tuple(name for name in names if self.parts.get(name) != older.get(name))


def version_of(function: Callable[..., Any], given: str | None) -> Version:
    """The version of a function; one that has none is refused unless the user has `given` it."""
    parts, seen = {}, set[int]()
    try:
        for label, value in _pieces(function, seen):
            parts[label] = _digest(_text(value, seen))
    except _Unseen as unseen:
        if given is None:
            raise ValueError(f"{unseen}; pass version=, and another one when it changes.") from None
    parts |= packages() | ({} if given is None else {"version=": given})
    file = str(getattr(getattr(inspect.unwrap(function), "__code__", None), "co_filename", ""))
    return Version(_digest(json.dumps(parts, sort_keys=True)), parts, "".join(linecache.getlines(file)), file)


def packages() -> dict[str, str]:
    """The versions of biasfree and of the packages that it computes with."""
    return {"biasfree": __version__} | {name: _package(name) for name in _PACKAGES}


def differences(function: Any, expected: Version) -> list[str]:
    """What a process that has loaded a function has otherwise: packages, or the text of an imported module."""
    here = packages()
    found = [name for name in here if here[name] != expected.parts[name]]
    module = sys.modules.get(getattr(function, "__module__", ""))
    if getattr(module, getattr(function, "__name__", ""), None) is function:
        text = "".join(linecache.getlines(str(getattr(module, "__file__", ""))))
        found += [f"the text of {module.__name__}"] if expected.text not in ("", text) else []
    return found


def pickled(function: Callable[..., Any]) -> bytes:
    """A function as bytes for other processes; raises ValueError if it cannot be sent."""
    import cloudpickle

    class Pickler(cloudpickle.Pickler):
        def reducer_override(self, obj: Any) -> Any:
            if type(obj) is _CACHED and sys.modules.get(obj.__module__) in (None, sys.modules["__main__"]):
                return _cached, (obj.__wrapped__, obj.cache_parameters())  # else it is looked up by its name
            return super().reducer_override(obj)

    buffer = io.BytesIO()
    try:
        Pickler(buffer, protocol=pickle.HIGHEST_PROTOCOL).dump(function)
    except Exception as error:  # whatever its closures and globals raise
        name = getattr(function, "__name__", repr(function))
        raise ValueError(
            f"{name} cannot be sent to other processes ({type(error).__name__}: {error}); make what it uses "
            "inside the function."
        ) from None
    return buffer.getvalue()


def _cached(function: Callable[..., Any], parameters: dict[str, Any]) -> Any:
    return functools.lru_cache(**parameters)(function)


class _Unseen(Exception):
    """Something that has no version: a sentence without its end."""


@dataclasses.dataclass(frozen=True)
class _Source:
    """The text of the module, script or cell that defines a function."""

    function: FunctionType
    name: str


def _pieces(function: Any, seen: set[int]) -> Iterator[tuple[str, Any]]:
    """What a callable depends on: its source, and values by name."""
    name = getattr(function, "__qualname__", type(function).__qualname__).rpartition(".")[2]
    seen.add(id(function))
    if isinstance(function, FunctionType):
        yield f"text of {name}", _Source(function, name)
        closed = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        yield from ((f"{variable} of {name}", cell.cell_contents) for variable, cell in closed)
        yield f"defaults of {name}", [function.__defaults__, function.__kwdefaults__]
        if not os.path.exists(function.__code__.co_filename):
            yield from _of_other_cells(function, name)
    elif isinstance(function, functools.partial):
        yield from _pieces(function.func, seen)
        yield f"arguments of {name}", [list(function.args), function.keywords]
    elif isinstance(function, MethodType):
        yield from _pieces(function.__func__, seen)
        yield f"object of {name}", function.__self__
    elif hasattr(function, "__wrapped__"):
        yield from _pieces(function.__wrapped__, seen)
    elif isinstance(type(function).__call__, FunctionType):
        yield from _pieces(type(function).__call__, seen)
        yield f"object of {name}", vars(function)
    else:
        raise _Unseen(f"{name} has no source")


def _of_other_cells(function: FunctionType, name: str) -> Iterator[tuple[str, Any]]:
    """The data that a function of a cell reads, and the functions of cells that it calls."""
    for variable in sorted(_names(function.__code__) & function.__globals__.keys()):
        value = function.__globals__[variable]
        ours = callable(value) and getattr(value, "__module__", None) == function.__module__
        if ours or isinstance(
            value, bool | int | float | complex | str | list | tuple | dict | set | np.ndarray
        ):
            yield f"{variable} of {name}", value


def _text(value: Any, seen: set[int]) -> str:
    """A value as text; equal values have equal texts. Raises _Unseen for values that cannot be compared."""

    def texts(values: Iterable[Any]) -> list[str]:
        return [_text(one, seen) for one in values]

    kind = type(value).__qualname__
    if isinstance(value, _Source):
        file = value.function.__code__.co_filename
        linecache.checkcache(file)
        if not (lines := linecache.getlines(file, value.function.__globals__)):
            raise _Unseen(f"{value.name} has no source")
        return "".join(lines)
    if value is None or isinstance(
        value, bool | int | float | complex | str | bytes | np.generic | PurePath | range
    ):
        return f"{kind} {value!r}"
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        return f"array {value.dtype.str} {value.shape} {_digest(np.ascontiguousarray(value).tobytes())}"
    if isinstance(value, list | tuple):
        return f"{kind} {texts(value)}"
    if isinstance(value, set | frozenset):
        return f"{kind} {sorted(texts(value))}"
    if isinstance(value, Mapping):
        return f"{kind} {sorted(map(str, map(texts, value.items())))}"
    if isinstance(value, type | ModuleType) or id(value) in seen:
        return f"{getattr(value, '__module__', '')} {getattr(value, '__name__', kind)}"
    if dataclasses.is_dataclass(value):
        return f"{kind} {texts([vars(value)])}"
    if callable(value):
        named = f"{value.__module__} {getattr(value, '__qualname__', kind)}"
        known = value.__module__.partition(".")[0] in (*sys.stdlib_module_names, "biasfree", *_PACKAGES)
        parts = [] if known and not isinstance(value, functools.partial) else [*_pieces(value, seen)]
        return f"{named} {texts(parts)}"
    raise _Unseen(f"the function uses a {kind}, of which two cannot be compared")


def _names(code: CodeType) -> set[str]:
    """The global names and attributes that code mentions, that of inner functions too."""
    inner = [_names(constant) for constant in code.co_consts if isinstance(constant, CodeType)]
    return set(code.co_names).union(*inner)


@functools.cache
def _package(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"


def _digest(content: str | bytes) -> str:
    return blake2b(content if isinstance(content, bytes) else content.encode(), digest_size=16).hexdigest()
