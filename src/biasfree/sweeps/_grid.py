"""Axes and their points: checked against the function, counted, and named by a hash."""

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
Calls = Iterable[Parameters]
SEED = "seed"


@dataclass(frozen=True)
class Grid:
    """All combinations of the values of the axes; a call takes the axes in `group` whole, as lists."""

    axes: Mapping[str, tuple[Value, ...]]
    group: tuple[str, ...] = ()

    @property
    def per_call(self) -> int:
        """The number of points that one call computes."""
        return math.prod(len(self.axes[name]) for name in self.group)

    def __len__(self) -> int:
        return math.prod(map(len, self.axes.values())) // self.per_call

    def __iter__(self) -> Iterator[Parameters]:
        values = [[[*v]] if name in self.group else v for name, v in self.axes.items()]
        return (dict(zip(self.axes, chosen, strict=True)) for chosen in itertools.product(*values))

    def __str__(self) -> str:
        return " × ".join(f"{name} {len(values)}" for name, values in self.axes.items())


def name_of(version: str, parameters: Parameters) -> str:
    """The name under which a call is stored: a hash of the version and the parameters."""
    texts = [f"{name}={_text(parameters[name])}" for name in sorted(parameters)]
    return digest(version + "\0".join(texts))


def _text(value: Any) -> str:
    """A value as text; 1, 1.0, True and "1" differ."""
    if isinstance(value, list):
        return f"[{','.join(map(_text, value))}]"
    return json.dumps(value) if isinstance(value, str) else repr(value)


def digest(text: str, size: int = 16) -> str:
    """A hash of so many bytes, in hexadecimal digits."""
    return blake2b(text.encode(), digest_size=size).hexdigest()


def title(function: Callable[..., Any]) -> str:
    """The name of a function; of the one inside, if it is a partial one."""
    inner = getattr(function, "func", function)
    return str(getattr(inner, "__name__", type(inner).__name__))


def grid_of(
    function: Callable[..., Any], over: Mapping[str, Any] | None, seeds: Any, group: str | Sequence[str]
) -> Grid:
    """The grid of a sweep; raises ValueError for what does not fit the function."""
    if not isinstance(over, Mapping | None):
        raise ValueError(f"over must be a dict from parameters to lists, got a {type(over).__name__}.")
    axes = {name: _axis(name, values) for name, values in (over or {}).items()}
    if seeds is not None:
        if SEED in axes:
            raise ValueError("both over and seeds give the parameter 'seed'; drop one of them.")
        counted = isinstance(seeds, int | np.integer)
        axes[SEED] = tuple(range(whole("seeds", seeds))) if counted else _axis("seeds", seeds)
    if not axes:
        raise ValueError("a sweep needs at least one axis; pass over={'name': values} or seeds=.")
    try:
        signature = inspect.signature(function)
        signature.bind_partial(**axes)
        signature.bind(**axes)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{title(function)} cannot be called by name with the axes {', '.join(axes)}: {error}. Name each "
            "axis after a parameter, and give other parameters a default."
        ) from None
    group = tuple(dict.fromkeys([group] if isinstance(group, str) else group))
    for name in group:
        if name not in axes:
            raise ValueError(f"group names {name!r}, which is no axis; the axes are {', '.join(axes)}.")
    return Grid(axes, group)


def _axis(name: str, values: Any) -> tuple[Value, ...]:
    """The values of an axis as numbers, strings or booleans of Python."""
    listed = hasattr(values, "__iter__") and not isinstance(values, str | bytes | Mapping)
    array = np.array([*values] if listed else None)
    kinds = {isinstance(value, str) for value in values} if listed else set()
    if array.ndim != 1 or array.dtype.kind not in "biufU" or len(kinds) != 1 or (array != array).any():
        raise ValueError(
            f"axis {name!r} must be a list of numbers, strings or booleans, all of one kind, none of them "
            f"NaN, got {values!r}; for one value write [value]."
        )
    found = tuple(array.tolist())
    if len(set(found)) < len(found):
        repeated = next(value for i, value in enumerate(found) if value in found[:i])
        raise ValueError(f"axis {name!r} has the value {repeated!r} twice; np.unique drops repeats.")
    return found
