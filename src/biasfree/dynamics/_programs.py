"""Bounded cache of compiled programs: each function keeps those for the shapes it used last.

Linux gives a process 65 530 memory maps, and XLA takes up to 700 of them for one program; without a bound, a
loop over a hundred shapes aborts. JAX frees programs by function only, so every program, one per shape, is a
function of its own here. Programs that other code compiles are not touched.
"""

from __future__ import annotations

import inspect
import os
import threading
from collections import OrderedDict
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import jax
import numpy as np

from biasfree.dynamics._releases import refuse_wrong_release

#: Programs kept per function. `advance` takes 700 maps per program, the thirteen other functions 100.
MOST = 24


class Programs:
    """A function compiled per shape of its arguments, with the programs used last."""

    def __init__(self, function: Callable[..., Any], static: tuple[str, ...]):
        self._function, self._static = function, static
        self._names = function.__code__.co_varnames[: function.__code__.co_argcount]
        self._kept: OrderedDict[Any, Any] = OrderedDict()
        self._lock = threading.Lock()
        self.__doc__, self.__name__ = function.__doc__, function.__name__

    def __call__(self, *args: Any, **options: Any) -> Any:
        return self._program(args, options)(*args, **options)

    def lower(self, *args: Any, **options: Any) -> Any:
        """The program for these arguments in the form that JAX passes to the compiler."""
        return self._program(args, options).lower(*args, **options)

    def __len__(self) -> int:
        """The number of programs kept."""
        return len(self._kept)

    def _program(self, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        given = dict(zip(self._names, args, strict=False)) | options
        fixed = tuple(given.pop(name, None) for name in self._static)
        leaves, tree = jax.tree.flatten(given)
        key = fixed, tree, tuple((np.shape(a), getattr(a, "dtype", type(a))) for a in leaves)
        with self._lock:
            if key not in self._kept:
                self._kept[key] = jax.jit(_copy(self._function), static_argnames=self._static)
            self._kept.move_to_end(key)
            program = self._kept[key]
            dropped = self._kept.popitem(last=False)[1] if len(self._kept) > MOST else None
        if dropped is not None:
            dropped.clear_cache()
        return program


def compiled(*static: str) -> Callable[[Callable[..., Any]], Programs]:
    """Decorator: compile a function as `Programs`, with one program per value of the `static` arguments."""
    return lambda function: Programs(function, static)


def _copy(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that does the same and that JAX takes for another one: JAX frees programs by function."""

    def program(*args: Any, **options: Any) -> Any:
        return function(*args, **options)

    program.__name__ = function.__name__
    program.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    return program


def float64() -> AbstractContextManager[Any]:
    """A context in which JAX computes in float64; the caller's JAX settings do not change."""
    refuse_wrong_release()
    check_process()
    return jax.enable_x64(True)


class _Process:
    """Whether programs ran in this process, or in the process it was forked from."""

    used = forked = False

    @classmethod
    def after_fork(cls) -> None:
        cls.forked = cls.used


os.register_at_fork(after_in_child=_Process.after_fork)


def check_process() -> None:
    """Refuse a forked process: JAX would wait forever for threads that a fork does not copy."""
    if _Process.forked:
        raise RuntimeError(
            "this process was forked from one that had already simulated, and JAX does not survive a fork; "
            'start it with multiprocessing.get_context("spawn").'
        )
    _Process.used = True
