"""Where a module comes from: biasfree, an installed package with a version, or the user."""

from __future__ import annotations

import site
import sys
import sysconfig
from functools import cache
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

Origin = Literal["ours", "installed", "user"]


def origin(module: str) -> Origin:
    """Who wrote a module: installed packages are known by their version, the others by their code."""
    top = module.partition(".")[0]
    if top == "biasfree":
        return "ours"
    if top == "__main__":  # also where a notebook or a tool has started it
        return "user"
    if top == "builtins" or top in sys.stdlib_module_names:
        return "installed"
    file = _file(module)
    return "installed" if file is not None and _is_installed(file) and not _is_local(top) else "user"


def version(module: str) -> tuple[str, str]:
    """The name of the distribution of an installed module, and its version."""
    top = module.partition(".")[0]
    if top in sys.stdlib_module_names or top == "builtins":
        return "python", sys.version.split()[0]
    return _distribution(top)


@cache
def _distribution(top: str) -> tuple[str, str]:
    try:
        return top, metadata.version(top)
    except metadata.PackageNotFoundError:
        named = metadata.packages_distributions().get(top, ())  # reads all installed files: seconds
    if named:
        return named[0], metadata.version(named[0])
    return top, str(getattr(sys.modules.get(top), "__version__", "unknown"))


def _file(module: str) -> str | None:
    """The file of a module, which may have been made by hand and then has none."""
    if module in sys.modules:
        return getattr(sys.modules[module], "__file__", None)
    try:
        spec = find_spec(module)
    except (ImportError, ValueError):
        return None
    return None if spec is None else spec.origin


@cache
def _is_installed(file: str) -> bool:
    path = Path(file).resolve()
    return any(path.is_relative_to(folder) for folder in _folders())


@cache
def _is_local(top: str) -> bool:
    """Whether a package was installed from a folder, as its author does: the version may stay as it was."""
    try:
        source = metadata.distribution(top).read_text("direct_url.json")
    except metadata.PackageNotFoundError:
        return False
    return source is not None and "dir_info" in source


@cache
def _folders() -> tuple[Path, ...]:
    named = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    named += [*site.getsitepackages(), site.getusersitepackages()]
    return tuple(Path(folder).resolve() for folder in named)
