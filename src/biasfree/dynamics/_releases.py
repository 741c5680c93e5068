"""Releases of jaxlib that are known to compute wrong numbers, refused before the first computation."""

from __future__ import annotations

from functools import cache
from importlib.metadata import version

#: Release → what is wrong with it; pyproject.toml excludes the same ones.
KNOWN_WRONG = {
    "0.10.2": "compiles some batched products wrongly on the CPU (public issue jax #39103)",
    "0.11.0": "returns wrong values from single operations on some GPUs (public issue jax #40633)",
    "0.11.1": "returns wrong values from single operations on some GPUs (public issue jax #40633)",
}


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
