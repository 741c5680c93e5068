"""Results remembered as long as the object that they are about exists."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar
from weakref import WeakKeyDictionary

Subject = TypeVar("Subject")
Result = TypeVar("Result")


def cached_per_object(function: Callable[[Subject], Result]) -> Callable[[Subject], Result]:
    """Decorator: compute a function of a frozen object, such as a dataset, once in the object's lifetime.

    Objects count as the same by identity. The result must be read-only and must not refer to the object,
    which it would keep alive.
    """
    results: WeakKeyDictionary[Subject, Result] = WeakKeyDictionary()

    @wraps(function)
    def cached(*args: Subject, **named: Subject) -> Result:
        (subject,) = (*args, *named.values())
        if subject not in results:
            results[subject] = function(subject)
        return results[subject]

    return cached
