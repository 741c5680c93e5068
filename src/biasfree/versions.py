"""Versions of biasfree, Python and the packages it uses, for bug reports and stored results."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

from biasfree._version import __version__

_PACKAGES = ("numpy", "scipy", "jax", "jaxlib", "numba", "matplotlib", "torch")


def versions() -> dict[str, str]:
    """Versions by name: biasfree, Python and the packages it uses, or "not installed"."""
    found = {"biasfree": __version__, "python": platform.python_version()}
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
