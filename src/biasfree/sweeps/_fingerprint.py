"""The fingerprint of a function: a hash of all that its results depend on, besides its parameters.

Followed are the compiled code of every function and class of the user that it reaches; the values of the
globals, defaults and closures that these read; the sources of biasfree that they import; and the versions of
Python and of installed packages. What cannot be hashed is refused by name. Files that a function reads, the
environment and the clock are not seen.
"""

from __future__ import annotations

import builtins
import functools
import hashlib
import importlib
import inspect
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import Any

from biasfree.sources import Sources, module_path
from biasfree.sweeps._bytecode import Import, Read, Write, accesses, constants, layout, nested
from biasfree.sweeps._origins import origin, version
from biasfree.sweeps._values import Unhashable, Values

#: Changes where stored files mean something else.
_FORMAT = "1"
_ENGINES = ("numpy", "scipy", "jax", "jaxlib", "diffrax", "numba")
_MODULE = "biasfree module "
_UNSEEN = ("eval", "exec", "globals", "__import__")
_OURS = Sources(frozenset({"biasfree"}))
#: Attributes of a class that say nothing about what it does, or that other attributes repeat.
_PLAIN = frozenset(
    """__dict__ __weakref__ __doc__ __module__ __qualname__ __annotations__ _abc_impl __dataclass_fields__
    __dataclass_params__ __match_args__ __abstractmethods__ __firstlineno__ __static_attributes__
    __annotate__ __annotate_func__ __orig_bases__ __annotations_cache__ __parameters__""".split()  # noqa: SIM905
)


@dataclass(frozen=True)
class Fingerprint:
    """A hash, and its parts by name, so that a change can be named.

    `sources` are those of the user's functions, for readers. `files` has a hash of the file of each module of
    biasfree: reading them is faster than following their imports.
    """

    digest: str
    parts: dict[str, str]
    sources: dict[str, str]
    files: dict[str, str]

    def changes(self, older: dict[str, str]) -> list[str]:
        """The names of the parts that differ from those of an older fingerprint."""
        names = sorted(self.parts.keys() | older.keys())
        return [name for name in names if self.parts.get(name) != older.get(name)]


def fingerprint(function: Callable[..., Any]) -> Fingerprint:
    """The fingerprint of a function; raises ValueError, naming it, for what cannot be hashed."""
    walk = _walked(function)
    modules = walk.add_library()
    parts = dict(sorted(walk.parts.items()))
    digest = _hash(json.dumps(parts).encode())
    return Fingerprint(digest, parts, walk.sources, _files(modules))


def differences(function: Callable[..., Any], expected: Fingerprint) -> list[str]:
    """The parts in which a function, as this process has it, differs from an expected fingerprint.

    A process elsewhere may have other versions, or other files of the modules that it imports.
    """
    walk = _walked(function)
    walk.add_engines()
    found = {name: text for name, text in expected.parts.items() if name.startswith(_MODULE)} | walk.parts
    here = _files(expected.files)
    changed = [f"{_MODULE}{name}" for name, digest in expected.files.items() if here[name] != digest]
    return [*expected.changes(found), *changed]


def _walked(function: Callable[..., Any]) -> _Walk:
    walk = _Walk()
    try:
        walk.parts["function"] = walk.values.text(function, getattr(function, "__name__", "the function"))
    except Unhashable as refusal:
        raise ValueError(str(refusal)) from None
    return walk


def _files(modules: Iterable[str]) -> dict[str, str]:
    paths = {name: module_path(name) for name in modules if "/" not in name}
    return {name: "missing" if path is None else _hash(path.read_bytes()) for name, path in paths.items()}


def _hash(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()


class _Walk:
    """A walk over all functions, classes and values that a function reaches."""

    def __init__(self):
        self.parts = {"format": _FORMAT}
        self.sources: dict[str, str] = {}
        self.values = Values(self.function, self.type_, self.module)
        self._labels: dict[int, str] = {}
        self._kept: list[Any] = []  # their ids stay theirs while they are kept
        self._library: set[str] = set()
        self._version("sys")

    def add_library(self) -> list[str]:
        """Add the modules of biasfree that were reached, and return their names."""
        self.add_engines()
        found = _OURS.of(self._library)
        self.parts |= {f"{_MODULE}{name}": _hash(content) for name, content in found.items()}
        return list(found)

    def add_engines(self) -> None:
        """Add the versions of what biasfree computes with, if it was reached."""
        for package in _ENGINES if self._library else ():
            self._version(package)

    def function(self, function: FunctionType) -> str:
        """Follow a function; returns its label."""
        if id(function) in self._labels:
            return self._labels[id(function)]
        home = str(function.__globals__.get("__name__", ""))
        kind = origin(home)
        if kind == "ours":
            bare = inspect.unwrap(function)
            home = str(getattr(bare, "__globals__", {}).get("__name__", home))
            self._library.add(home)
            function, name = bare, f"{home}.{bare.__qualname__}"
        else:
            name = f"{home}.{function.__qualname__}" if kind == "installed" else function.__qualname__
        label = self._label(function, name)
        if kind == "user":
            self._code(function, label)
        elif kind == "installed":
            self._version(home)
        for variable, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            try:
                value = cell.cell_contents
            except ValueError:  # not assigned yet
                self.parts[f"closure {variable} of {label}"] = "empty"
                continue
            self.parts[f"closure {variable} of {label}"] = self.values.text(
                value, f"{variable}, which {label} closes over"
            )
        return label

    def type_(self, cls: type) -> str:
        """Follow a class; returns its label."""
        if id(cls) in self._labels:
            return self._labels[id(cls)]
        kind = origin(cls.__module__)
        label = self._label(
            cls, cls.__qualname__ if kind == "user" else f"{cls.__module__}.{cls.__qualname__}"
        )
        if kind == "ours":
            self._library.add(cls.__module__)
        elif kind == "installed":
            self._version(cls.__module__)
        else:
            for name, value in sorted(vars(cls).items()):
                if name not in _PLAIN:
                    self.parts[f"{name} of class {label}"] = self.values.text(
                        value, f"{name} of the class {label}"
                    )
            above = (*cls.__bases__, *(() if type(cls) is type else (type(cls),)))
            bases = [self.values.text(base, f"a base of {label}") for base in above]
            self.parts[f"bases of class {label}"] = json.dumps(bases)
        return label

    def module(self, module: ModuleType, where: str) -> str:
        """Follow a module that is passed on as a whole: the names that are used of it cannot be seen."""
        return self._attribute(module, (), where)

    def _code(self, function: FunctionType, label: str) -> None:
        """Add the compiled code of a function of the user, its defaults, and what it reads."""
        digest = hashlib.blake2b(digest_size=16)
        for code in nested(function.__code__):
            digest.update(repr(layout(code)).encode())
            text = self.values.text(constants(code), f"a constant of {label}")
            digest.update(text.encode())
        self.parts[f"function {label}"] = digest.hexdigest()
        self.sources[label] = _source(function)
        named = zip(_with_defaults(function), function.__defaults__ or (), strict=True)
        for name, value in [*named, *(function.__kwdefaults__ or {}).items()]:
            described = f"the default of {name} in {label}"
            self.parts[f"default of {name} in {label}"] = self.values.text(value, described)
        for name, value in sorted(vars(function).items()):
            if name != "__wrapped__":
                self.parts[f"attribute {name} of {label}"] = self.values.text(value, f"{label}.{name}")
        for access in accesses(function.__code__):
            self._access(function, access, label)

    def _access(self, function: FunctionType, access: Read | Import | Write, label: str) -> None:
        if isinstance(access, Write):
            raise Unhashable(
                f"{label} changes the global {access.name}, so its results would depend on the order of the "
                "points; return what you need instead."
            )
        if isinstance(access, Import):
            for name, text in self._imported(function, access, label):
                self.parts[f"import of {name} in {label}"] = text
            return
        scope, name = function.__globals__, access.name
        if name in scope:
            shown = ".".join((name, *access.attributes)) if isinstance(scope[name], ModuleType) else name
            where = f"{shown}, which {label} reads"
            if isinstance(scope[name], ModuleType):
                text = self._attribute(scope[name], access.attributes, where)
            else:
                text = self.values.text(scope[name], where)
            self.parts[f"global {shown} of {label}"] = text
        elif name in _UNSEEN:
            raise Unhashable(
                f"{label} calls {name}, and what that reads cannot be hashed; write the names out."
            )
        elif not hasattr(builtins, name):
            self.parts[f"global {name} of {label}"] = "undefined"

    def _imported(self, function: FunctionType, access: Import, label: str) -> Iterator[tuple[str, str]]:
        package = str(function.__globals__.get("__package__") or "") if access.level else None
        dotted = "." * access.level + access.module
        try:
            module = importlib.import_module(dotted, package)
        except ImportError as error:
            yield dotted, f"missing: {type(error).__name__}"
            return
        for name in access.names or ("",):
            where = f"{dotted}.{name}".removesuffix(".") + f", which {label} imports"
            yield where.split(",")[0], self._attribute(module, (name,) if name else (), where)

    def _attribute(self, module: ModuleType, attributes: tuple[str, ...], where: str) -> str:
        """Follow the attributes that are taken of a module, and no others."""
        home, kind = module.__name__, origin(module.__name__)
        if kind == "installed":
            self._version(home)
            return f"module {home}"
        if kind == "ours":
            self._library |= _modules_of(module, attributes)
            return f"module {home}"
        if not attributes:
            return self._whole(module, where)
        if not hasattr(module, attributes[0]):
            return "undefined"
        value = getattr(module, attributes[0])
        if isinstance(value, ModuleType):
            return self._attribute(value, attributes[1:], where)
        return self.values.text(value, where)

    def _whole(self, module: ModuleType, where: str) -> str:
        if id(module) not in self._labels:
            label = self._label(module, f"module {module.__name__.rpartition('.')[2]}")
            for name, value in sorted(vars(module).items()):
                if not (name.startswith("__") and name.endswith("__")):
                    text = self.values.text(value, f"{name} of the {label} ({where})")
                    self.parts[f"{name} of {label}"] = text
        return self._labels[id(module)]

    def _label(self, thing: Any, name: str) -> str:
        """A name of its own for a function, class or module: a second one of the same name gets a number."""
        taken = set(self._labels.values())
        numbers = (f"{name} ({i})" for i in range(2, len(taken) + 3))
        label = name if name not in taken else next(one for one in numbers if one not in taken)
        self._labels[id(thing)] = label
        self._kept.append(thing)
        return label

    def _version(self, module: str) -> None:
        if origin(module) == "installed":
            package, number = version(module)
            self.parts[f"version of {package}"] = number


def _modules_of(module: ModuleType, attributes: tuple[str, ...]) -> set[str]:
    """The modules of biasfree in which an attribute is written; all of a package that is passed on whole."""
    home = module.__name__
    for name in attributes:  # by the files: importing a part of biasfree may load its engines
        if module_path(f"{home}.{name}") is None:
            return {*_OURS.attribute(home, (name,))} or {home}
        home = f"{home}.{name}"
    return {*_OURS.everything_in(home)} or {home}


def _with_defaults(function: FunctionType) -> tuple[str, ...]:
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    return names[len(names) - len(function.__defaults__ or ()) :]


@functools.cache
def _source(function: FunctionType) -> str:
    """The source of a function for readers of the store; it decides nothing."""
    try:
        return inspect.getsource(function)
    except (OSError, TypeError):  # typed at a prompt, or made by exec
        return "not available"
