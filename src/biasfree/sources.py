"""The modules that a module uses, found by following its imports, also those inside functions.

A name taken from a package (`from biasfree.theory import reduced_flow`, `bf.theory.reduced_flow`) leads to
the module in which it is written, and not to everything that the package offers. A data file counts with the
module beside it that names it. Docstrings and comments do not count.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from biasfree.code import code, syntax_nodes


@dataclass(frozen=True)
class Sources:
    """The sources of some packages; imports of other packages are not followed."""

    packages: frozenset[str]

    def of(self, roots: Iterable[str]) -> dict[str, bytes]:
        """The code of each module that the `roots` use, themselves included, and the data beside it."""
        found: dict[str, bytes] = {}
        left = [module for module in roots if self._path(module) is not None]
        while left:
            module = left.pop()
            if module not in found:
                path = self._path(module)
                assert path is not None
                source = path.read_text(encoding="utf-8")
                found[module] = code(source).encode()
                found |= {f"{module}/{file.name}": file.read_bytes() for file in _data_named_in(path)}
                left += self._used(source, module)
        return found

    def attribute(self, base: str, names: tuple[str, ...]) -> Iterator[str]:
        """The modules of a name such as bf.theory.reduced_flow, found by following its packages."""
        for name in names:
            if not self._is_package(base):
                return
            yield from self._homes(base, name)
            base = f"{base}.{name}"

    def everything_in(self, package: str) -> Iterator[str]:
        """Every module of a package that a source passes on as a whole: the names it uses cannot be seen."""
        if self._is_package(package):
            path = self._path(package)
            assert path is not None
            for file in path.parent.rglob("*.py"):
                inside = file.relative_to(path.parent).with_suffix("").parts
                yield ".".join([package, *(part for part in inside if part != "__init__")])

    def _used(self, source: str, module: str) -> Iterator[str]:
        """The modules of these packages in which the names are written that a source takes from elsewhere."""
        imported, attributes, whole = _taken(source, module)
        for base, name in imported:
            yield from self._homes(base, name)
        for base, names in attributes:
            yield from self.attribute(base, names)
        for package in whole:
            yield from self.everything_in(package)

    def _homes(self, base: str, name: str) -> Iterator[str]:
        """The modules that define `name`, imported from the module or package `base`."""
        module = f"{base}.{name}" if base else name
        if self._path(module) is not None:
            if not self._is_package(module):
                yield module
            return
        if self._path(base) is None:
            return
        if not self._is_package(base):
            yield base
            return
        origin = exports(base).get(name)
        if origin is None:  # defined in the package itself, or by an import that cannot be followed
            yield base
        else:
            yield from self._homes(*origin)

    def _is_package(self, module: str) -> bool:
        path = self._path(module)
        return path is not None and path.name == "__init__.py"

    def _path(self, module: str) -> Path | None:
        return module_path(module) if module.partition(".")[0] in self.packages else None


Imported = set[tuple[str, str]]
Attributes = set[tuple[str, tuple[str, ...]]]


@cache
def _taken(source: str, module: str) -> tuple[Imported, Attributes, set[str]]:
    """Names that a source imports, attributes that it takes from imported names, names it hands on whole."""
    nodes = syntax_nodes(source)
    packages: dict[str, str] = {}
    imported: Imported = set()
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            base = _absolute(node, module)
            packages |= {alias.asname or alias.name: f"{base}.{alias.name}" for alias in node.names}
            imported |= {(base, alias.name) for alias in node.names}
        elif isinstance(node, ast.Import):
            packages |= {alias.asname or alias.name: alias.name for alias in node.names}
            plain = [alias.name for alias in node.names if alias.asname is None or "." in alias.name]
            imported |= {(package, name) for package, _, name in (one.rpartition(".") for one in plain)}
    chains = [_chain(node) for node in nodes if isinstance(node, ast.Attribute)]
    known = [chain for chain in chains if chain is not None and chain[0] in packages]
    attributes = {(packages[first], tuple(names)) for first, *names in known}
    dotted = {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}
    alone = [node for node in nodes if isinstance(node, ast.Name) and id(node) not in dotted]
    return imported, attributes, {packages[node.id] for node in alone if node.id in packages}


def _absolute(node: ast.ImportFrom, module: str) -> str:
    if not node.level:
        return node.module or ""
    package = module.split(".")[: -node.level]
    return ".".join([*package, *([node.module] if node.module else [])])


@cache
def exports(package: str) -> dict[str, tuple[str, str]]:
    """The names that a package imports, each with its module and its name there."""
    path = module_path(package)
    assert path is not None
    found: dict[str, tuple[str, str]] = {}
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            base = _absolute(node, f"{package}.__init__")
            found |= {alias.asname or alias.name: (base, alias.name) for alias in node.names}
    return found


def _chain(node: ast.expr) -> list[str] | None:
    """a.b.c as [a, b, c], or None where it does not begin with a name."""
    if isinstance(node, ast.Name):
        return [node.id]
    if isinstance(node, ast.Attribute) and (before := _chain(node.value)) is not None:
        return [*before, node.attr]
    return None


@cache
def module_path(module: str) -> Path | None:
    """The file of a module, or None; nothing but its package is searched, and nothing is imported."""
    package, *inside = module.split(".")
    spec = find_spec(package)  # of a package alone: nothing is imported
    if spec is None or spec.origin is None:
        return None
    place = Path(spec.origin).parent.joinpath(*inside)
    candidates = (place / "__init__.py", place.with_suffix(".py"))
    return next((path for path in candidates if path.is_file()), None)


def _data_named_in(path: Path) -> list[Path]:
    source, names = path.read_text(), sorted(os.listdir(path.parent))
    named = [path.parent / name for name in names if not name.endswith(".py") and name in source]
    return [file for file in named if file.is_file()]
