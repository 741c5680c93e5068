"""JAX, an optional engine: where it is missing, has an accelerator, or computes wrongly; and its programs."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cache, lru_cache, partial, wraps
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

import numpy as np

#: Release → what is wrong with it; pyproject.toml excludes the same ones.
KNOWN_WRONG = {
    "0.10.2": "compiles some batched products wrongly on the CPU (public issue jax #39103)",
    "0.11.0": "returns wrong values from single operations on some GPUs (public issue jax #40633)",
    "0.11.1": "returns wrong values from single operations on some GPUs (public issue jax #40633)",
}
#: Programs kept per function. A program takes about 90 memory maps, of which Linux gives a process 65 530:
#: without a bound, a loop over many shapes aborts.
MOST = 24


def has_jax() -> bool:
    """Whether JAX is installed."""
    return find_spec("jax") is not None


def on_accelerator() -> bool:
    """Whether JAX is installed and computes on an accelerator."""
    if not has_jax():
        return False
    import jax

    return jax.default_backend() != "cpu"


def devices() -> list[str]:
    """The devices that JAX has, in words; none without JAX."""
    if not has_jax():
        return []
    import jax

    return [f"{device.platform} {device.id} ({device.device_kind})" for device in jax.devices()]


def require_jax(what: str) -> None:
    """Raise an ImportError where `what` needs JAX and JAX is not installed."""
    if not has_jax():
        raise ImportError(f"{what} needs JAX, which is not installed; run pip install 'biasfree[jax]'.")


@cache
def refuse_wrong_release() -> None:
    """Raise an ImportError if the installed jaxlib is known to be wrong."""
    installed = version("jaxlib")
    if why := KNOWN_WRONG.get(installed):
        excluded = ",".join(f"!={release}" for release in KNOWN_WRONG)
        raise ImportError(
            f"jaxlib {installed} {why}, so its results cannot be trusted; "
            f"install another release: pip install 'jax>=0.8,{excluded}'."
        )


def float64() -> AbstractContextManager[Any]:
    """A context in which JAX computes in float64; the caller's JAX settings do not change."""
    import jax

    refuse_wrong_release()
    _refuse_forked_process()
    return jax.enable_x64(True)


def _refuse_forked_process() -> None:
    """In a fork JAX would wait forever for threads that a fork does not copy."""
    if os.getpid() != _first_process():
        raise RuntimeError(
            "this process was forked from one that had already simulated, and JAX does not survive a fork; "
            'start it with multiprocessing.get_context("spawn").'
        )


@cache
def _first_process() -> int:
    """The process in which programs first ran: this one, or the one it was forked from."""
    return os.getpid()


def compiled(*static: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: compile a function whose first arguments are `static`, a program for each of their values
    and for the shapes of the others. The programs used last are kept."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        import jax

        @lru_cache(MOST)
        def program(fixed: tuple[Any, ...], shapes: Any) -> Any:  # noqa: ARG001
            return jax.jit(partial(function, *fixed))  # JAX frees programs by function: each has its own

        @wraps(function)
        def call(*args: Any) -> Any:
            fixed, given = args[: len(static)], args[len(static) :]
            leaves, tree = jax.tree.flatten(given)
            shapes = tree, tuple((np.shape(a), getattr(a, "dtype", type(a))) for a in leaves)
            return program(fixed, shapes)(*given)

        return call

    return decorate
