"""The modules that a module uses, found by following its imports, also those inside functions.

A name imported from a package (`from biasfree.theory import reduced_flow`, `bf.theory.reduced_flow`) leads to
the module that defines it, not to the whole package. A data file belongs to the module beside it that names
it. Other distributions enter the fingerprint by their versions.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path

from biasfree_papers.registry import GROUP


def sources_of(roots: set[str]) -> dict[str, bytes]:
    """The sources of all modules that the `roots` use, themselves included, and of data files beside them."""
    found: dict[str, bytes] = {}
    left = [module for module in roots if _path(module) is not None]
    while left:
        module = left.pop()
        if module not in found:
            path = _path(module)
            assert path is not None
            found[module] = path.read_bytes()
            found |= {f"{module}/{file.name}": file.read_bytes() for file in _data_named_in(path)}
            left += _used(found[module].decode(), module)
    return found


def _used(source: str, module: str) -> Iterator[str]:
    """The modules that define the names which a source imports, in packages whose sources are followed."""
    tree = ast.parse(source)
    packages = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            base = _absolute(node, module)
            for alias in node.names:
                packages[alias.asname or alias.name] = f"{base}.{alias.name}"
                yield from _homes(base, alias.name)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                packages[alias.asname or alias.name] = alias.name
                if alias.asname is None or "." in alias.name:
                    yield from _homes(*alias.name.rpartition(".")[::2])
    dotted = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            dotted.add(id(node.value))
            chain = _chain(node)
            if chain is not None and chain[0] in packages:
                yield from _attribute(packages[chain[0]], chain[1:])
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in packages and id(node) not in dotted:
            yield from _everything_in(packages[node.id])


def _absolute(node: ast.ImportFrom, module: str) -> str:
    if not node.level:
        return node.module or ""
    package = module.split(".")[: -node.level]
    return ".".join([*package, *([node.module] if node.module else [])])


def _attribute(base: str, names: list[str]) -> Iterator[str]:
    """The module that defines bf.theory.reduced_flow: packages are followed, then the name is looked up."""
    for name in names:
        path = _path(base)
        if path is None or path.name != "__init__.py":
            return
        yield from _homes(base, name)
        base = f"{base}.{name}"


def _homes(base: str, name: str) -> Iterator[str]:
    """The modules that define `name`, imported from the module or package `base`."""
    if _path(f"{base}.{name}" if base else name) is not None:
        module = f"{base}.{name}" if base else name
        if not _is_package(module):
            yield module
        return
    path = _path(base)
    if path is None:
        return
    if not _is_package(base):
        yield base
        return
    origin = _exports(base).get(name)
    if origin is None:  # defined in the package itself, or by an import that cannot be followed
        yield base
    else:
        yield from _homes(*origin)


def _everything_in(package: str) -> Iterator[str]:
    """Every module of a package that a source passes on as a whole: the names it uses cannot be seen."""
    if _is_package(package):
        path = _path(package)
        assert path is not None
        for file in path.parent.rglob("*.py"):
            inside = file.relative_to(path.parent).with_suffix("").parts
            yield ".".join([package, *(part for part in inside if part != "__init__")])


@cache
def _exports(package: str) -> dict[str, tuple[str, str]]:
    """The names that a package imports, each with its module and its name there."""
    path = _path(package)
    assert path is not None
    found = {}
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


def _is_package(module: str) -> bool:
    path = _path(module)
    return path is not None and path.name == "__init__.py"


@cache
def _ours() -> frozenset[str]:
    """The packages whose sources are followed: biasfree, and those that have figures."""
    names = {package.value.partition(":")[0].partition(".")[0] for package in entry_points(group=GROUP)}
    return frozenset({"biasfree", "biasfree_papers"} | names)


@cache
def _path(module: str) -> Path | None:
    """The file of a module in one of these packages, or None."""
    if module.partition(".")[0] not in _ours():
        return None
    package, *inside = module.split(".")
    spec = find_spec(package)  # of a package alone: nothing is imported
    if spec is None or spec.origin is None:
        return None
    place = Path(spec.origin).parent.joinpath(*inside)
    candidates = (place / "__init__.py", place.with_suffix(".py"))
    return next((path for path in candidates if path.is_file()), None)


def _data_named_in(path: Path) -> list[Path]:
    source, files = path.read_text(), sorted(path.parent.iterdir())
    return [file for file in files if file.is_file() and file.suffix != ".py" and file.name in source]
