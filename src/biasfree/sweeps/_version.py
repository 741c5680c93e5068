"""The version of a function: the text that defines it, the values it closes over, the packages it runs on.

The text is that of the whole module, script or cell. Of a cell, which is not all of its notebook, the data
that the function reads from other cells count too, and the functions of cells that it calls. Modules that the
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
from collections.abc import Callable, Iterator
from hashlib import blake2b
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from biasfree.versions import versions

_PACKAGES = ("biasfree", "numpy", "scipy", "numba", "jax")
_CACHED = type(functools.lru_cache(len))
_INSTALLED = (*sys.stdlib_module_names, *_PACKAGES)
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
    unseen: list[str] = []
    parts = dict(_parts(function, unseen, set()))
    if unseen and given is None:
        raise ValueError(f"{unseen[0]}; pass version=, and another one when it changes.")
    found = versions()
    parts |= {name: found[name] for name in _PACKAGES} | ({} if given is None else {"version=": given})
    file = str(getattr(getattr(inspect.unwrap(function), "__code__", None), "co_filename", ""))
    return Version(_digest(json.dumps(parts, sort_keys=True)), parts, _source(file), file)


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


def _parts(function: Any, unseen: list[str], seen: set[int]) -> Iterator[tuple[str, str]]:
    """What a callable depends on, by name: the hash of its source, and of values."""
    name = getattr(function, "__qualname__", type(function).__qualname__).rpartition(".")[2]
    inner, values = None, {}
    if id(function) in seen:
        return
    seen.add(id(function))
    if isinstance(function, FunctionType):
        code = function.__code__
        if text := _source(code.co_filename):
            yield f"text of {name}", _digest(text)
        else:
            unseen.append(f"{name} has no source")
        closed = zip(code.co_freevars, function.__closure__ or (), strict=True)
        values = {variable: cell.cell_contents for variable, cell in closed}
        values |= {"defaults": [function.__defaults__, function.__kwdefaults__]}
        values |= {} if os.path.exists(code.co_filename) else _of_other_cells(function)
    elif isinstance(function, functools.partial):
        inner, values = function.func, {"arguments": [function.args, function.keywords]}
    elif isinstance(function, MethodType):
        inner, values = function.__func__, {"object": function.__self__}
    elif hasattr(function, "__wrapped__"):
        inner = function.__wrapped__
    elif isinstance(type(function).__call__, FunctionType):
        inner, values = type(function).__call__, {"object": vars(function)}
    else:
        unseen.append(f"{name} has no source")
    if inner is not None:
        yield from _parts(inner, unseen, seen)
    for label, value in values.items():
        yield from _value(f"{label} of {name}", value, unseen, seen)


def _value(label: str, value: Any, unseen: list[str], seen: set[int]) -> Iterator[tuple[str, str]]:
    """The hash of a value, or what a function of the user depends on; joblib hashes what pickle takes."""
    import joblib

    home = str(getattr(value, "__module__", "")).partition(".")[0]
    ours = isinstance(value, FunctionType | MethodType | _CACHED) and home not in _INSTALLED
    if ours or isinstance(value, functools.partial):
        yield from ((f"{label}: {part}", text) for part, text in _parts(value, unseen, seen))
    elif isinstance(value, ModuleType):
        yield label, value.__name__
    else:
        try:
            yield label, str(joblib.hash(value))
        except Exception as error:  # whatever its parts raise
            unseen.append(f"the {label} cannot be compared with that of another run ({error})")


def _of_other_cells(function: FunctionType) -> dict[str, Any]:
    """The data that a function of a cell reads from others, and the functions of theirs that it calls."""
    names = sorted(_names(function.__code__) & function.__globals__.keys())
    read = {name: function.__globals__[name] for name in names}
    return {
        n: v for n, v in read.items() if isinstance(v, _DATA) or getattr(v, "__module__", "") == "__main__"
    }


def _source(file: str) -> str:
    """The text of a module, script or cell; empty if there is none."""
    linecache.checkcache(file)
    return "".join(linecache.getlines(file))


def _names(code: CodeType) -> set[str]:
    """The global names and attributes that code mentions, that of inner functions too."""
    inner = [_names(constant) for constant in code.co_consts if isinstance(constant, CodeType)]
    return set(code.co_names).union(*inner)


def _digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=16).hexdigest()
