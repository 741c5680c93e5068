"""Values as text that is the same in every process: numbers, arrays, containers and plain objects."""

from __future__ import annotations

import copyreg
import functools
import hashlib
import json
import random
import sys
from collections.abc import Callable, Iterable
from types import BuiltinFunctionType, FunctionType, MappingProxyType, MethodType, ModuleType
from typing import Any

import numpy as np

from biasfree.arrays import is_tensor

_EXACT = (type(None), type(...), type(NotImplemented), bool, int, float, complex, str, bytes)
_GENERATORS = (np.random.Generator, np.random.RandomState, random.Random)
_DESCRIPTORS = (
    "getset_descriptor",
    "member_descriptor",
    "wrapper_descriptor",
    "method_descriptor",
    "method-wrapper",
    "builtin_function_or_method",
    "classmethod_descriptor",
)
_DEEPEST = 100
_Cached = type(functools.cache(len))

Follow = Callable[[Any], str]


class Unhashable(Exception):
    """A value that has no hash; the message names it and says what to do."""


class Values:
    """Texts of values; functions, classes and modules are followed by the functions given."""

    def __init__(self, function: Follow, type_: Follow, module: Callable[[Any, str], str]):
        self._function, self._type, self._module = function, type_, module
        self._inside: list[int] = []

    def text(self, value: Any, where: str) -> str:
        """A text that equal values share and different values do not; `where` names the value in errors."""
        if type(value) in _EXACT:
            return f"{type(value).__name__} {_short(repr(value))}"
        if id(value) in self._inside:
            return f"enclosing {len(self._inside) - self._inside.index(id(value))}"
        if len(self._inside) > _DEEPEST:
            raise Unhashable(f"{where} is nested too deeply to be hashed; simplify it.")
        self._inside.append(id(value))
        try:
            return self._compound(value, where)
        finally:
            self._inside.pop()

    def _compound(self, value: Any, where: str) -> str:
        if type(value) is np.ndarray or isinstance(value, np.generic):
            return self._array(value, where)
        if type(value) in (list, tuple):
            return self._digest(type(value).__name__, (self.text(one, where) for one in value))
        if type(value) in (set, frozenset):
            return self._digest(type(value).__name__, sorted(self.text(one, where) for one in value))
        if type(value) in (dict, MappingProxyType):
            pairs = (self.text(key, where) + self.text(one, where) for key, one in value.items())
            return self._digest("dict", pairs)
        if isinstance(value, FunctionType):
            return f"function {self._function(value)}"
        if isinstance(value, type):
            return f"class {self._type(value)}"
        if isinstance(value, ModuleType):
            return self._module(value, where)
        return self._other(value, where)

    def _other(self, value: Any, where: str) -> str:
        """The text of an object that refers to functions or to its own state."""
        if isinstance(value, MethodType):
            return self._digest(
                "method", [self.text(part, where) for part in (value.__func__, value.__self__)]
            )
        if isinstance(value, staticmethod | classmethod):
            return f"{type(value).__name__} {self.text(value.__func__, where)}"
        if isinstance(value, property | functools.cached_property):
            names = ("fget", "fset", "fdel") if isinstance(value, property) else ("func",)
            return self._digest("property", [self.text(getattr(value, name), where) for name in names])
        if type(value).__name__ == "PjitFunction":
            return self._jitted(value, where)
        if is_tensor(value) or (type(value).__module__.startswith("jax") and hasattr(value, "dtype")):
            return self._foreign_array(value, where)
        if isinstance(value, BuiltinFunctionType) and not isinstance(value.__self__, ModuleType | type(None)):
            return self._digest("method", [value.__name__, self.text(value.__self__, where)])
        if type(value).__name__ in _DESCRIPTORS:
            home = getattr(value, "__module__", None)
            return (
                f"built-in {home}.{getattr(value, '__qualname__', getattr(value, '__name__', repr(value)))}"
            )
        if isinstance(value, np.ufunc):
            return self._ufunc(value, where)
        if isinstance(value, _GENERATORS):
            raise Unhashable(
                f"{where}, is a random generator: results would depend on the order of the points. Make it "
                "inside the function, from a seed."
            )
        if type(value).__module__.startswith("numba.") and hasattr(value, "py_func"):
            parts = [self.text(getattr(value, name, None), where) for name in ("py_func", "targetoptions")]
            return self._digest("numba", parts)
        if isinstance(value, _Cached):
            return self._digest("cached", [self.text(value.__wrapped__, where)])
        return self._state(value, where)

    def _jitted(self, value: Any, where: str) -> str:
        """The text of what jax.jit returns, whose `__wrapped__` is lost on the way to another process."""
        state = value.__getstate__()
        names = ("fun", "static_argnums", "static_argnames")
        if not {*names} <= state.keys():
            raise _unhashable(value, where, "this version of JAX does not tell its function")
        return self._digest("jax.jit", [self.text(state[name], where) for name in names])

    def _ufunc(self, value: np.ufunc, where: str) -> str:
        """The text of a ufunc of NumPy or SciPy; np.frompyfunc makes others, whose function is hidden."""
        for home in ("numpy", "scipy.special"):
            if getattr(sys.modules.get(home), value.__name__, None) is value:
                return f"ufunc {home}.{value.__name__}"
        raise _unhashable(value, where, "its function cannot be seen")

    def _foreign_array(self, value: Any, where: str) -> str:
        try:
            array = np.asarray(value.detach().cpu() if is_tensor(value) else value)
        except (TypeError, ValueError) as error:
            raise _unhashable(value, where, str(error)) from None
        if array.dtype.hasobject:
            raise _unhashable(value, where, "NumPy cannot read it")
        return self._array(array, where)

    def _array(self, value: Any, where: str) -> str:
        if value.dtype.hasobject:
            return self._digest(f"objects {value.shape}", (self.text(one, where) for one in value.ravel()))
        content = np.ascontiguousarray(value)
        digest = hashlib.blake2b(content.tobytes(), digest_size=16).hexdigest()
        return f"{type(value).__name__} {value.dtype} {value.shape} {digest}"

    def _state(self, value: Any, where: str) -> str:
        """The text of an object by its class and the state that copying would restore."""
        try:
            registered = copyreg.dispatch_table.get(type(value))
            reduced: Any = value.__reduce_ex__(4) if registered is None else registered(value)
        except Exception as error:  # whatever an object raises that cannot be copied
            raise _unhashable(value, where, str(error)) from None
        if isinstance(reduced, str):  # a name says nothing about what the object does
            if type(value).__module__ in ("typing", "numpy", "builtins"):
                return f"named {reduced} {self.text(type(value), where)}"
            raise _unhashable(value, where, "it is known by its name only")
        parts = [list(part) if i > 2 and part is not None else part for i, part in enumerate(reduced)]
        return self._digest("object", [self.text(part, where) for part in parts])

    @staticmethod
    def _digest(kind: str, texts: Iterable[str]) -> str:
        return f"{kind} {_short(json.dumps(list(texts)))}"


def _unhashable(value: Any, where: str, reason: str) -> Unhashable:
    kind = type(value).__name__
    return Unhashable(
        f"{where}, is a {kind} and cannot be hashed ({reason}); make it inside the function, or replace it "
        "by numbers."
    )


def _short(text: str) -> str:
    """Short texts as they are, so that they can be read in the store; a hash of long ones."""
    return text if len(text) <= 60 else hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
