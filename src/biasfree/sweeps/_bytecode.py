"""Compiled functions: a hash of what is executed, and the globals and imports that it reads.

The compiled code is what runs, also where the file has been edited since it was imported. Comments,
docstrings and line numbers are no part of it.
"""

from __future__ import annotations

import dis
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType

_OPTIMIZED, _HAS_DOCSTRING = 0x1, 0x4000000  # of <cpython/code.h>; the second since Python 3.14
_LOADS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS", "LOAD_CLASSDEREF")
_WRITES = ("STORE_GLOBAL", "DELETE_GLOBAL")
#: Globals that say where a function is written: the same file is a script here and a module there.
_OF_MODULES = ("__name__", "__qualname__", "__file__", "__package__", "__spec__", "__loader__", "__doc__")
_ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")


@dataclass(frozen=True)
class Read:
    """A global that a function reads, and the attributes it takes of it: bf.theory.aligned."""

    name: str
    attributes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Import:
    """An import inside a function: names taken from a module, or none for the module as a whole."""

    module: str
    level: int
    names: tuple[str, ...]


@dataclass(frozen=True)
class Write:
    """A global that a function changes."""

    name: str


def nested(code: CodeType) -> Iterator[CodeType]:
    """A code object and those of the functions and classes defined inside."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from nested(constant)


def constants(code: CodeType) -> tuple[object, ...]:
    """The constants of a code object without its docstring and the code inside it."""
    first = code.co_consts[:1]
    function = code.co_flags & _OPTIMIZED and not code.co_name.startswith("<")
    if function and first and isinstance(first[0], str):
        first = (None,)
    found = (*first, *code.co_consts[1:])
    return tuple("code" if isinstance(one, CodeType) else one for one in found)


def layout(code: CodeType) -> tuple[object, ...]:
    """What decides how a code object executes, apart from its constants."""
    counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount)
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    flags = code.co_flags & ~_HAS_DOCSTRING
    return (code.co_code, getattr(code, "co_exceptiontable", b""), flags, counts, names)


def accesses(code: CodeType) -> list[Read | Import | Write]:
    """The globals and imports of a function and of what is defined inside it, each once, in order."""
    found: dict[Read | Import | Write, None] = {}
    for part in nested(code):
        steps = [step for step in dis.get_instructions(part) if step.opname != "EXTENDED_ARG"]
        for i, step in enumerate(steps):
            if step.opname in _LOADS and step.argval not in _OF_MODULES:
                found[Read(step.argval, tuple(_chain(steps[i + 1 :])))] = None
            elif step.opname in _WRITES:
                found[Write(step.argval)] = None
            elif step.opname == "IMPORT_NAME":
                level, names = steps[i - 2].argval, steps[i - 1].argval
                found[Import(step.argval, int(level), tuple(names or ()))] = None
    return list(found)


def _chain(steps: list[dis.Instruction]) -> Iterator[str]:
    for step in steps:
        if step.opname not in _ATTRIBUTES:
            return
        yield step.argval
