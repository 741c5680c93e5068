"""The reference: a page per room of the library, with an entry for each public name."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

from uses import plain, uses

#: Room → the first words of its page.
ROOMS = {
    "biasfree": "The verbs and nouns, as `bf.NAME`.",
    "biasfree.data": "What is learned: datasets, tasks, infinite data, transformations, loading.",
    "biasfree.networks": "What learns: initializations, structured networks, the span of the inputs.",
    "biasfree.dynamics": "How it learns, simulated: errors and results of the simulators.",
    "biasfree.theory": "How it learns, solved: closed forms and reduced equations.",
    "biasfree.diagnostics": "What we measure: data, functions, weights, trajectories.",
    "biasfree.diagnostics.advice": "The report of `bf.diagnose`.",
    "biasfree.plots": "How it looks: arrays and an Axes in, artists out.",
    "biasfree.sweeps": "Many runs: grids, stores, level lines.",
    "biasfree.lab": "Live: the page of `biasfree lab`, and replays of runs in the plane.",
}


@dataclass(frozen=True)
class Entry:
    """A public object and its dotted name."""

    name: str
    value: Any


@cache
def entries() -> dict[str, tuple[Entry, ...]]:
    """The public objects of every room, each once: the top level has those that it exports."""
    found: dict[str, tuple[Entry, ...]] = {}
    seen: set[int] = set()
    for room in ROOMS:
        module = importlib.import_module(room)
        made = []
        for name in module.__all__:
            value = getattr(module, name)
            plainly = inspect.unwrap(value) if callable(value) else value
            if not isinstance(value, ModuleType) and id(plainly) not in seen:
                seen.add(id(plainly))
                made.append(Entry(f"{room}.{name}", value))
        found[room] = tuple(made)
    return found


def known(dotted: str) -> bool:
    """Whether the reference has an entry under this name."""
    return dotted in {one.name for room in entries().values() for one in room}


def pages() -> dict[str, str]:
    """The text of every page by its name: one per room, and a table of contents."""
    return {"index": _contents(), **{room: _page(room, text) for room, text in ROOMS.items()}}


def _contents() -> str:
    listed = "\n".join(f"- [{_short(room)}]({room}.md): {text}" for room, text in ROOMS.items())
    tree = "\n".join(ROOMS)
    return (
        f"# Reference\n\nEvery public name, by room.\n\n{listed}\n\n```{{toctree}}\n:hidden:\n\n{tree}\n```\n"
    )


def _short(room: str) -> str:
    return room.replace("biasfree", "bf", 1)


def _page(room: str, text: str) -> str:
    described = "\n".join(_described(one, room) for one in entries()[room])
    return f"# `{_short(room)}`\n\n{text}\n\n```{{py:currentmodule}} {room}\n```\n\n{described}"


def _described(one: Entry, room: str) -> str:
    name = one.name.removeprefix(f"{room}.")
    if inspect.isclass(one.value):
        return _directive(
            "class", name, _signature(one.value), _text(one.value), _members(one.value), level=5
        )
    if callable(one.value):
        return _directive("function", name, _signature(one.value), _text(one.value), _used(one.name), level=4)
    shown = repr(one.value)
    return _directive("data", name, "", f"`{shown}`" if len(shown) < 80 else "A constant.", level=4)


def _used(public: str) -> str:
    """The uses of a function, set apart from its text; nothing if there are none."""
    found = uses(public)
    return f"{{.uses}}\n{found}" if found else ""


def _members(kind: type) -> str:
    """The public methods and properties of a class that have a docstring, those of dataclass fields aside."""
    made = []
    for name, value in vars(kind).items():
        if name.startswith("_") or not (text := _text(value)):
            continue
        if isinstance(value, property) or not callable(getattr(kind, name)):
            made.append(_directive("property", name, "", text, level=4))
        else:
            made.append(
                _directive("method", name, _signature(getattr(kind, name), bound=True), text, level=4)
            )
    return "\n".join(made)


def _directive(kind: str, name: str, signature: str, *parts: str, level: int) -> str:
    fence = ":" * level
    body = "\n\n".join(part for part in parts if part)
    return f"{fence}{{py:{kind}}} {name}{signature}\n{body}\n{fence}\n"


def _signature(value: Callable[..., Any], *, bound: bool = False) -> str:
    """The parameters and defaults, without annotations."""
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return "()"
    given = [p.replace(annotation=p.empty) for p in found.parameters.values()]
    if bound and given and given[0].name == "self":
        given = given[1:]
    return str(found.replace(parameters=given, return_annotation=found.empty))


def _text(value: Any) -> str:
    """The docstring as Markdown: lines that the docstring indents are formulas, kept as they are."""
    text = inspect.getdoc(value) or ""
    return plain(re.sub(r"\n(Assumes|Reference|Returns|Raises):", r"\n\n**\1:**", text))
