"""The version of a function: the text that defines it, the values it closes over, the packages it runs on.

The text is that of the whole module, script or cell. Of a cell, which is not all of its notebook, the data that
the function reads from other cells count too, and the functions of cells that it calls. Modules that the
function imports and files that it reads are not seen.
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
from pathlib import PurePath
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from biasfree.versions import versions

_PACKAGES = ("biasfree", "numpy", "scipy", "numba", "jax")
_CACHED = type(functools.lru_cache(len))
_PLAIN = (bool, int, float, complex, str, bytes, type(None), np.generic, PurePath, range)
_DATA = (bool, int, float, complex, str, list, tuple, dict, set, np.ndarray)


@dataclasses.dataclass(frozen=True, eq=False)
class Version:
    """A digest, what it is made of by name, and the text and file of the function for readers."""

    digest: str
    parts: dict[str, str]
    text: str
    file: str

    @property
    def packages(self) -> dict[str, str]:
        """The versions of packages among the parts."""
        return {name: self.parts[name] for name in _PACKAGES}


def version_of(function: Callable[..., Any], given: str | None) -> Version:
    """The version of a function; one that has none is refused unless the user has `given` it."""
    parts, seen = {}, set[int]()
    for label, value in _pieces(function, seen):
        try:
            parts[label] = _digest(_text(value, seen))
        except _Unseen as unseen:
            if given is None:
                raise ValueError(f"{unseen}; pass version=, and another one when it changes.") from None
    found = versions()
    parts |= {name: found[name] for name in _PACKAGES} | ({} if given is None else {"version=": given})
    file = str(getattr(getattr(inspect.unwrap(function), "__code__", None), "co_filename", ""))
    return Version(_digest(json.dumps(parts, sort_keys=True)), parts, "".join(linecache.getlines(file)), file)


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
        name, reason = getattr(function, "__name__", repr(function)), f"{type(error).__name__}: {error}"
        raise ValueError(
            f"{name} cannot be sent to other processes ({reason}); make what it uses inside the function."
        ) from None
    return buffer.getvalue()


def _cached(function: Callable[..., Any], parameters: dict[str, Any]) -> Any:
    return functools.lru_cache(**parameters)(function)


class _Unseen(Exception):
    """Something that has no version: a sentence without its end."""


@dataclasses.dataclass(frozen=True)
class _Source:
    """The text of the module, script or cell that defines a function; None if there is no text."""

    function: FunctionType | None
    name: str

    def text(self) -> str:
        file = "" if self.function is None else self.function.__code__.co_filename
        linecache.checkcache(file)
        if not (lines := linecache.getlines(file, getattr(self.function, "__globals__", None))):
            raise _Unseen(f"{self.name} has no source")
        return "".join(lines)


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
        yield f"text of {name}", _Source(None, name)


def _of_other_cells(function: FunctionType, name: str) -> Iterator[tuple[str, Any]]:
    for variable in sorted(_names(function.__code__) & function.__globals__.keys()):
        value = function.__globals__[variable]
        ours = callable(value) and getattr(value, "__module__", None) == function.__module__
        if ours or isinstance(value, _DATA):
            yield f"{variable} of {name}", value


def _text(value: Any, seen: set[int]) -> str:
    """A value as text; equal values have equal texts. Raises _Unseen for values that cannot be compared."""

    def texts(values: Iterable[Any]) -> list[str]:
        return [_text(one, seen) for one in values]

    kind = type(value).__qualname__
    if isinstance(value, _Source):
        return value.text()
    if isinstance(value, _PLAIN):
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
    if not callable(value):
        raise _Unseen(f"the function uses a {kind}, of which two cannot be compared")
    home = str(getattr(value, "__module__", ""))
    known = home.partition(".")[0] in (*sys.stdlib_module_names, *_PACKAGES)
    inside = [] if known and not isinstance(value, functools.partial) else [*_pieces(value, seen)]
    return f"{home} {getattr(value, '__qualname__', kind)} {texts(inside)}"


def _names(code: CodeType) -> set[str]:
    """The global names and attributes that code mentions, that of inner functions too."""
    inner = [_names(constant) for constant in code.co_consts if isinstance(constant, CodeType)]
    return set(code.co_names).union(*inner)


def _digest(content: str | bytes) -> str:
    return blake2b(content if isinstance(content, bytes) else content.encode(), digest_size=16).hexdigest()
