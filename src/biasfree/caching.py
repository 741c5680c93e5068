"""Results remembered as long as the objects that they are about exist."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

Subjects = ParamSpec("Subjects")
Result = TypeVar("Result")


class _Absent:
    """A key in place of None, which has no weak references."""


_ABSENT = _Absent()


def cached_per_object(function: Callable[Subjects, Result]) -> Callable[Subjects, Result]:
    """Decorator: compute a function of frozen objects, such as a network and data, once in their lifetime.

    Objects count as the same by identity; some may be None. The result must be read-only and must not refer
    to the objects, which it would keep alive. Every operation on the tables is a single one, so threads need
    no lock; two that compute the same result at the same time get the same object. Errors are not remembered.
    """
    results: Any = WeakKeyDictionary()

    @wraps(function)
    def cached(*args: Subjects.args, **named: Subjects.kwargs) -> Result:
        *others, last = (_ABSENT if one is None else one for one in (*args, *named.values()))
        table = results
        for one in others:
            table = table.setdefault(one, WeakKeyDictionary())
        if last not in table:
            table.setdefault(last, function(*args, **named))
        return table[last]

    return cached
