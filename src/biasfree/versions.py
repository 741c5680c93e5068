"""Which versions are in use, for a bug report or beside a figure."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

import biasfree

_PACKAGES = ("numpy", "scipy", "jax", "jaxlib", "diffrax", "matplotlib", "torch")


def versions() -> dict[str, str]:
    """Name → version of biasfree, Python and the packages it uses; absent ones are marked so."""
    found = {"biasfree": biasfree.__version__, "python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def show_versions() -> None:
    """Print the versions of biasfree, Python and the packages it uses."""
    for name, value in versions().items():
        print(f"{name:<12}{value}")
