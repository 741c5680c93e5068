"""`@result`: the statement of a result and its hypotheses, on the function that computes it.

`coverage` reads the statements; references are those of the docstrings.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from biasfree.losses import loss_named
from biasfree.theory.hypotheses._conditions import LABELS, under
from biasfree.theory.hypotheses._hypothesis import Hypothesis

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class Result:
    """A result under one loss: its statement, the public functions that compute it, and its hypotheses."""

    title: str
    paths: tuple[str, ...]
    reference: str
    assumes: tuple[Hypothesis, ...]
    loss: str
    #: Whether infinite data is accepted.
    populations: bool = False
    #: A condition along the flow, which only the call itself can check; "" if there is none.
    until: str = ""

    @property
    def calls(self) -> tuple[str, ...]:
        """The names of the functions."""
        return tuple(path.rpartition(".")[2] for path in self.paths)


@dataclass(frozen=True)
class _Statement:
    title: str
    function: Callable[..., Any]
    assumes: Callable[[], Sequence[Hypothesis]]
    losses: Sequence[str]
    path: str | None
    until: str


_STATEMENTS: list[_Statement] = []


def result(
    title: str,
    assumes: Callable[[], Sequence[Hypothesis]],
    *,
    losses: Sequence[str] = ("square",),
    path: str | None = None,
    until: str = "",
) -> Callable[[Function], Function]:
    """State the result that a function computes; functions of one title share a row of the coverage table.

    `assumes` returns the hypotheses that the function checks; it is a function because modules define
    hypotheses below the functions that use them. `path` is the public name if that is not in `bf.theory`.
    `until` names what ends its validity along the flow, where that is known after the call only.
    """

    def state(function: Function) -> Function:
        _STATEMENTS.append(_Statement(title, function, assumes, losses, path, until))
        return function

    return state


def results(paths: Mapping[str, str]) -> tuple[Result, ...]:
    """All results in the order of `paths` (public path by function name), one per title and loss.

    The hypotheses and the reference are those of the first function.
    """
    stated = {statement.function.__name__: statement for statement in _STATEMENTS}
    paths = {**paths, **{name: one.path for name, one in stated.items() if one.path}}
    rows: dict[tuple[str, str], list[str]] = {}
    for name in (name for name in paths if name in stated):
        for loss in stated[name].losses:
            rows.setdefault((stated[name].title, loss), []).append(name)
    return tuple(
        _result([stated[name] for name in names], [paths[name] for name in names], loss)
        for (_, loss), names in rows.items()
    )


def _result(statements: Sequence[_Statement], paths: Sequence[str], loss: str) -> Result:
    first = statements[0]
    title = first.title
    assumes = tuple(first.assumes())
    if loss != "square":
        title = f"{title}, {loss} loss"
        assumes = under(loss_named(loss), assumes)
    if loss == "logistic":
        assumes = (*assumes, LABELS)
    populations = loss == "square" and all(_takes_populations(one.function) for one in statements)
    return Result(title, tuple(paths), _reference(first.function), assumes, loss, populations, first.until)


def _takes_populations(function: Callable[..., Any]) -> bool:
    """Whether `data` may be a Population; a function without data is about the network alone."""
    data = inspect.signature(function).parameters.get("data")
    return data is None or "Population" in str(data.annotation)


def _reference(function: Callable[..., Any]) -> str:
    """The text after `Reference:` in the docstring."""
    found = re.search(r"Reference: (.+?)(?:\n\n|\Z)", inspect.getdoc(function) or "", flags=re.DOTALL)
    return " ".join(found[1].split()).rstrip(".") if found else ""
