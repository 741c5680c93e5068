"""Values as text that is the same in every process: numbers, arrays, containers and plain objects."""

from __future__ import annotations

import copyreg
import functools
import hashlib
import json
import random
from collections.abc import Callable, Iterable
from types import BuiltinFunctionType, FunctionType, MappingProxyType, MethodType, ModuleType
from typing import Any

import numpy as np

from biasfree.arrays import is_tensor

_EXACT = (type(None), type(...), type(NotImplemented), bool, int, float, complex, str, bytes)
_GENERATORS = (np.random.Generator, np.random.RandomState, random.Random)
_DESCRIPTORS = ("getset_descriptor", "member_descriptor", "wrapper_descriptor", "method_descriptor")
_DESCRIPTORS += ("method-wrapper", "builtin_function_or_method", "ufunc", "classmethod_descriptor")
_DEEPEST = 100

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
        if isinstance(value, np.ndarray | np.generic):
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
        if is_tensor(value) or type(value).__module__.partition(".")[0] in ("jax", "jaxlib"):
            if type(value).__name__ == "PjitFunction":
                return self._jitted(value, where)
            return self._array(np.asarray(value.detach().cpu() if is_tensor(value) else value), where)
        if isinstance(value, BuiltinFunctionType) and not isinstance(value.__self__, ModuleType | type(None)):
            return self._digest("method", [value.__name__, self.text(value.__self__, where)])
        if type(value).__name__ in _DESCRIPTORS:
            return f"built-in {getattr(value, '__qualname__', getattr(value, '__name__', repr(value)))}"
        if isinstance(value, _GENERATORS):
            raise Unhashable(
                f"{where}, is a random generator: results would depend on the order of the points. Make it "
                "inside the function, from a seed."
            )
        if hasattr(value, "py_func"):  # numba.njit
            return f"compiled {self.text(getattr(value, 'py_func'), where)}"  # noqa: B009
        if hasattr(value, "__wrapped__"):
            return self._wrapped(value, where)
        return self._state(value, where)

    def _wrapped(self, value: Any, where: str) -> str:
        return f"{type(value).__module__}.{type(value).__name__} of {self.text(value.__wrapped__, where)}"

    def _jitted(self, value: Any, where: str) -> str:
        """The text of what jax.jit returns, whose `__wrapped__` is lost on the way to another process."""
        state = value.__getstate__()
        names = ("fun", "static_argnums", "static_argnames")
        return self._digest("jax.jit", [self.text(state.get(name), where) for name in names])

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
            raise Unhashable(
                f"{where}, is a {type(value).__name__} and cannot be hashed ({error}); make it inside the "
                "function, or replace it by numbers."
            ) from None
        if isinstance(reduced, str):
            return f"named {reduced} {self.text(type(value), where)}"
        parts = [list(part) if i > 2 and part is not None else part for i, part in enumerate(reduced)]
        return self._digest("object", [self.text(part, where) for part in parts])

    @staticmethod
    def _digest(kind: str, texts: Iterable[str]) -> str:
        return f"{kind} {_short(json.dumps(list(texts)))}"


def _short(text: str) -> str:
    """Short texts as they are, so that they can be read in the store; a hash of long ones."""
    return text if len(text) <= 60 else hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
