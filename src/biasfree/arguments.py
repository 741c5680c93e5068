"""Public functions: arguments checked against annotations, and one thread of BLAS inside.

Users pass anything: data in place of the network, None, a string, a tensor that tracks gradients. A function
that is decorated by `public` answers a wrong argument with a one-sentence ValueError before any computation.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Set
from typing import Any, TypeVar

import numpy as np

from biasfree.arrays import as_array, described, is_tensor
from biasfree.threads import one_blas_thread

_NOUNS = {
    "Network": "bf.Network",
    "Dataset": "bf.Dataset",
    "Population": "bf.data.Population",
    "Trajectory": "bf.Trajectory",
    "MapTrajectory": "bf.MapTrajectory",
    "Axes": "Matplotlib Axes",
}
_NUMBERS = {"float": "a number", "int": "a whole number"}
_SEVERAL = {"float": "numbers", "bool": "True and False", "ArrayLike": "arrays", "Any": "values"}
_MODEL = "a bf.Network or a function of (samples, dimensions)"
_SAMPLED = "; use samples of it, population.sample(n, seed)"
_CALLED = {"Model": _MODEL, "Function": _MODEL}

Check = Callable[[str, Any], Any]
Function = TypeVar("Function", bound=Callable[..., Any])


def exported(names: Iterable[str], home: dict[str, Any]) -> None:
    """Decorate the functions of a package that are not decorated where they are defined."""
    for name in names:
        if inspect.isfunction(home[name]) and not hasattr(home[name], "__wrapped__"):
            home[name] = public(home[name])


def public(function: Function) -> Function:
    """Decorator of an exported function: its arguments are checked, and BLAS has one thread inside.

    Calls from inside the package pass the same checks, which take about a microsecond. `pickle` finds the
    function in the package that exports it, `biasfree.theory` for one of biasfree/theory/lazy/_kernel.py.
    """
    checks = _checks(function)
    places = [(place, name, check) for place, name, check in checks if place is not None]
    named = {name: check for _, name, check in checks}
    limited = one_blas_thread(function)

    @functools.wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        given = list(args)
        for place, name, check in places:
            if place < len(given):
                given[place] = check(name, given[place])
        for name in kwargs:
            if name in named:
                kwargs[name] = named[name](name, kwargs[name])
        try:
            return limited(*given, **kwargs)
        except TypeError:
            _refuse_misfit(function, args, kwargs)
            raise
        except MemoryError as error:
            raise ValueError(
                f"{function.__name__} needs more memory than there is: {error}; choose smaller sizes."
            ) from error

    checked.__module__ = ".".join(function.__module__.split(".")[:2])
    return checked  # type: ignore[return-value]


def _checks(function: Callable[..., Any]) -> list[tuple[int | None, str, Check]]:
    """The place, if it can be passed by place, the name and the check of each argument that has a check."""
    found: list[tuple[int | None, str, Check]] = []
    for place, parameter in enumerate(inspect.signature(function).parameters.values()):
        check = _check(str(parameter.annotation), function)
        if check is None or parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        found.append((None if parameter.kind is parameter.KEYWORD_ONLY else place, parameter.name, check))
    return found


def _refuse_misfit(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raise a TypeError that shows the call, if these arguments do not fit the signature."""
    try:
        inspect.signature(function).bind(*args, **kwargs)
    except TypeError as error:
        raise TypeError(f"{function.__name__}: {error}; call it as {_written(function)}.") from None


def _written(function: Callable[..., Any]) -> str:
    """The signature without annotations, such as gaussian(sizes, *, scale, leak=0.0, seed=0)."""
    signature = inspect.signature(function)
    bare = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    return f"{function.__name__}{signature.replace(parameters=bare, return_annotation=signature.empty)}"


def _check(annotation: str, function: Callable[..., Any]) -> Check | None:
    """The check for arguments of that annotation, or None if the function checks them itself."""
    optional = " | None" in annotation
    kinds = [kind for kind in re.split(r" \| (?![^\[]*\])", annotation) if kind != "None"]
    if set(kinds) <= _NOUNS.keys():
        return functools.partial(_noun, kinds, optional, function)
    if "ArrayLike" in kinds and set(kinds) <= {*_NOUNS, "ArrayLike"}:
        return lambda name, value: value if type(value).__name__ in kinds else _array(optional, name, value)
    if len(kinds) != 1:
        return None
    kind = kinds[0]
    if kind == "bool":
        return functools.partial(_truth, optional)
    if kind in _NUMBERS:
        return functools.partial(_number, _NUMBERS[kind], optional)
    if kind == "ArrayLike" or re.match(r"(?:Float|Int|Bool)\[", kind):
        return functools.partial(_array, optional)
    if kind in _CALLED or kind.startswith("Callable"):
        return functools.partial(_called, _CALLED.get(kind, "a function"), optional)
    if (found := re.fullmatch(r"(?:Sequence|Iterable)\[(\w+)\]", kind)) and found[1] in _SEVERAL:
        return functools.partial(_several, found[1], optional)
    return None


def _noun(kinds: list[str], optional: bool, function: Callable[..., Any], name: str, value: Any) -> Any:
    if type(value).__name__ in kinds or (value is None and optional):
        return value
    if {one.__name__ for one in type(value).__mro__} & {*kinds}:
        return value
    wanted = " or ".join(_NOUNS[kind] for kind in kinds)
    remedy = f"; call it as {_written(function)}" if type(value).__name__ in _NOUNS else ""
    if kinds == ["Network"] and type(value).__name__ == "Trajectory":
        remedy = "; pass one of its networks, such as trajectory[-1]"
    if "Dataset" in kinds and type(value).__name__ == "Population":
        remedy = _SAMPLED
    if "Dataset" in kinds and not remedy:
        remedy = "; make one with bf.Dataset(x, y)"
    raise ValueError(f"{name} must be a {wanted}, got {described(value)}{remedy}.")


def _number(wanted: str, optional: bool, name: str, value: Any) -> Any:
    if type(value) is float or type(value) is int:
        return value
    numeric = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    if numeric or (value is None and optional) or (wanted == "a whole number" and isinstance(value, bool)):
        return value
    raise ValueError(f"{name} must be {wanted}, got {described(value)}.")


def _truth(optional: bool, name: str, value: Any) -> Any:
    if (value is None and optional) or isinstance(value, bool | np.bool_):
        return value
    raise ValueError(f"{name} must be True or False, got {described(value)}.")


def _array(optional: bool, name: str, value: Any) -> Any:
    if type(value) is np.ndarray and value.dtype.kind in "fiub":
        return value
    if value is None and optional:
        return value
    if type(value).__name__ in _NOUNS:
        remedy = "" if type(value).__name__ != "Population" else f"{_SAMPLED}.x"
        raise ValueError(f"{name} must be an array of numbers, got {described(value)}{remedy}.")
    array = as_array(name, value)
    if array.dtype.kind not in "fiub":
        raise ValueError(f"{name} must hold real numbers, got an array of dtype {array.dtype}.")
    return array


def _called(wanted: str, optional: bool, name: str, value: Any) -> Any:
    if (value is None and optional) or callable(value):
        return value
    raise ValueError(f"{name} must be {wanted}, got {described(value)}.")


def _several(kind: str, optional: bool, name: str, value: Any) -> Any:
    if value is None and optional:
        return value
    ordered = isinstance(value, Iterable) and not isinstance(value, str | bytes | Set | Mapping)
    if ordered and getattr(value, "ndim", 1) != 0:
        items = list(as_array(name, value)) if is_tensor(value) else list(value)
        check = _ITEMS.get(kind, lambda _, item: item)
        return [check(f"{name}[{i}]", item) for i, item in enumerate(items)]
    raise ValueError(f"{name} must be a list of {_SEVERAL[kind]}, got {described(value)}.")


#: Checks of the items of a list, for functions that do not check them.
_ITEMS: dict[str, Check] = {
    "float": functools.partial(_number, _NUMBERS["float"], False),
    "ArrayLike": functools.partial(_array, False),
}
