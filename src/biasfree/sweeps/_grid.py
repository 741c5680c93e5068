"""Axes and their points: checked against the function, counted, numbered and named by a hash."""

from __future__ import annotations

import inspect
import itertools
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np

from biasfree.arrays import whole

Value = bool | int | float | str
#: The parameters of one call; those of a group are lists.
Parameters = dict[str, Any]
SEED = "seed"
_KINDS = {str: "strings", bool: "booleans"}


#: A call: its name in the store, and its parameters. Calls are those of a grid or a list, by version.
Call = tuple[str, Parameters]
Calls = Callable[[str], Iterator[Call]]


@dataclass(frozen=True)
class Grid:
    """All combinations of the values of the axes; a call takes the axes in `group` whole, as lists."""

    axes: Mapping[str, tuple[Value, ...]]
    group: tuple[str, ...] = ()

    @property
    def dims(self) -> tuple[str, ...]:
        """The names of the axes."""
        return tuple(self.axes)

    @property
    def per_call(self) -> int:
        """The number of points that one call computes."""
        return math.prod(len(self.axes[name]) for name in self.group)

    @property
    def points(self) -> int:
        """The number of points."""
        return math.prod(map(len, self.axes.values()))

    def __len__(self) -> int:
        return self.points // self.per_call

    def __str__(self) -> str:
        return " × ".join(f"{name} {len(values)}" for name, values in self.axes.items())

    def calls(self, version: str) -> Iterator[Call]:
        """All calls, in order, with their names under a version; a million take a few seconds."""
        values = [[[*v]] if name in self.group else [*v] for name, v in self.axes.items()]
        order = sorted(range(len(values)), key=self.dims.__getitem__)
        texts = [
            [f"{n}={_text(value)}" for value in column] for n, column in zip(self.dims, values, strict=True)
        ]
        begun = blake2b(version.encode(), digest_size=16)
        for parts, given in zip(itertools.product(*texts), itertools.product(*values), strict=True):
            digest = begun.copy()
            digest.update("\0".join([parts[i] for i in order]).encode())
            yield digest.hexdigest(), dict(zip(self.dims, given, strict=True))


def listed(calls: Iterable[Parameters]) -> Calls:
    """Calls given one by one."""
    return lambda version: ((name_of(version, parameters), parameters) for parameters in calls)


def name_of(version: str, parameters: Parameters) -> str:
    """The name under which a call is stored: a hash of the version and the parameters."""
    digest = blake2b(version.encode(), digest_size=16)
    digest.update("\0".join(f"{name}={_text(parameters[name])}" for name in sorted(parameters)).encode())
    return digest.hexdigest()


def _text(value: Any) -> str:
    """A value as text; 1, 1.0, True and "1" differ."""
    if isinstance(value, list):
        return f"[{','.join(map(_text, value))}]"
    return json.dumps(value) if isinstance(value, str) else repr(value)


def grid_of(
    function: Callable[..., Any], over: Mapping[str, Any], seeds: Any, group: str | Sequence[str]
) -> Grid:
    """The grid of a sweep; raises ValueError for what does not fit the function."""
    if not isinstance(over, Mapping):
        raise ValueError(
            f"over must be a dict from parameters to lists of values, got a {type(over).__name__}."
        )
    axes = {name: _axis(name, values) for name, values in over.items()}
    if seeds is not None:
        if SEED in axes:
            raise ValueError("both over and seeds give the parameter 'seed'; drop one of them.")
        counted = isinstance(seeds, int | np.integer) and not isinstance(seeds, bool)
        axes[SEED] = tuple(range(whole("seeds", seeds))) if counted else _axis("seeds", seeds)
    if not axes:
        raise ValueError("a sweep needs at least one axis; pass over={'name': values} or seeds=.")
    _check_parameters(function, axes)
    group = (group,) if isinstance(group, str) else tuple(group)
    for name in group:
        if name not in axes:
            raise ValueError(f"group names {name!r}, which is no axis; the axes are {', '.join(axes)}.")
    if len(set(group)) < len(group):
        raise ValueError(f"group names an axis twice: {', '.join(group)}.")
    return Grid(axes, group)


def _axis(name: Any, values: Any) -> tuple[Value, ...]:
    """The values of an axis as numbers, strings or booleans of Python."""
    if not isinstance(name, str) or not name.isidentifier():
        raise ValueError(f"an axis is named by a parameter of the function, got {name!r}.")
    if isinstance(values, str | bytes | Mapping) or not hasattr(values, "__iter__"):
        raise ValueError(
            f"axis {name!r} must be a list of values, got {values!r}; for one value write [{values!r}]."
        )
    if getattr(values, "ndim", 1) != 1:
        raise ValueError(f"axis {name!r} must be one-dimensional, got shape {tuple(values.shape)}.")
    found = tuple(_plain(name, value) for value in values)
    if not found:
        raise ValueError(f"axis {name!r} is empty; give it at least one value.")
    kinds = {_KINDS.get(type(value), "numbers") for value in found}
    if len(kinds) > 1:
        raise ValueError(f"axis {name!r} mixes {' and '.join(sorted(kinds))}; give values of one kind.")
    if any(type(value) is float for value in found):
        found = tuple(map(float, found))
    if len(set(found)) < len(found):
        repeated = next(value for i, value in enumerate(found) if value in found[:i])
        raise ValueError(f"axis {name!r} has the value {repeated!r} twice; np.unique drops repeats.")
    return found


def _plain(name: str, value: Any) -> Value:
    value = value.item() if isinstance(value, np.generic) else value
    if type(value) not in (bool, int, float, str) or value != value:
        raise ValueError(f"axis {name!r} must hold numbers, strings or booleans and no NaN, got {value!r}.")
    return value


def _check_parameters(function: Callable[..., Any], axes: Mapping[str, Any]) -> None:
    """Raise ValueError unless the function can be called with the axes as keywords."""
    name = getattr(function, "__name__", repr(function))
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        raise ValueError(f"{name} does not say which parameters it takes; wrap it in a def.") from None
    kinds = inspect.Parameter
    if fixed := [p.name for p in parameters.values() if p.kind is kinds.POSITIONAL_ONLY]:
        raise ValueError(
            f"{name} takes {', '.join(fixed)} by position only; a sweep passes parameters by name."
        )
    named = [p for p in parameters.values() if p.kind in (kinds.POSITIONAL_OR_KEYWORD, kinds.KEYWORD_ONLY)]
    anything = any(p.kind is kinds.VAR_KEYWORD for p in parameters.values())
    takes = ", ".join(p.name for p in named) or "none"
    for axis in axes:
        if not anything and axis not in [p.name for p in named]:
            raise ValueError(f"{name} has no parameter {axis!r}; it takes {takes}.")
    if lacking := [p.name for p in named if p.default is p.empty and p.name not in axes]:
        raise ValueError(
            f"{name} needs {', '.join(map(repr, lacking))}, which no axis gives; the axes are "
            f"{', '.join(axes)}. Add an axis, or a default to the function."
        )
