"""JAX, an optional engine: where it is missing, has an accelerator, or is a release that computes wrongly."""

from __future__ import annotations

from functools import cache
from importlib.metadata import version
from importlib.util import find_spec

#: Release → what is wrong with it; pyproject.toml excludes the same ones.
KNOWN_WRONG = {
    "0.10.2": "compiles some batched products wrongly on the CPU (public issue jax #39103)",
    "0.11.0": "returns wrong values from single operations on some GPUs (public issue jax #40633)",
    "0.11.1": "returns wrong values from single operations on some GPUs (public issue jax #40633)",
}


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
