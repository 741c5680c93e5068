"""The functions of the packages that a Python file uses, resolved by its imports and its syntax tree.

A name counts where it is loaded and refers to the function: through an imported module or an alias of it, by
`from … import`, or by a local name such as `T = bf.theory`. A word in a text, an unused import, an attribute
of another object and a local variable of the same name do not count.
"""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any

PACKAGES = ("biasfree", "biasfree_papers")
Scope = Mapping[str, str | None]
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def used(source: str, begin: Callable[[str], bool] = lambda _: True) -> set[str]:
    """The dotted names of the packages that a file uses.

    Only definitions whose name satisfies `begin` count, and the definitions of the file that these use.
    """
    parts, local = _definitions(source)
    return set().union(*(parts[name] for name in _reached(filter(begin, parts), local)))


@cache
def _definitions(source: str) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """For each name that a file defines, what it uses: names of the packages, and names of the file."""
    tree = ast.parse(source)
    scope = _bound(tree.body, {})
    parts: dict[str, set[str]] = {}
    local: dict[str, set[str]] = {}
    for node in tree.body:
        for name in _defines(node):
            found, names = _uses(node, scope)
            parts[name] = parts.get(name, set()) | found
            local[name] = local.get(name, set()) | names
    return parts, local


@cache
def resolved(dotted: str) -> Any:
    """The object of a dotted name, without the check that wraps public functions; None if there is none."""
    head, *rest = dotted.split(".")
    found: Any = importlib.import_module(head)
    for i, part in enumerate(rest):
        if not hasattr(found, part):
            try:
                importlib.import_module(".".join([head, *rest[: i + 1]]))
            except ImportError:
                return None
        found = getattr(found, part, None)
    return inspect.unwrap(found) if callable(found) else found


def _reached(roots: Iterable[str], edges: Mapping[str, set[str]]) -> set[str]:
    reached, left = set(), list(roots)
    while left:
        if (name := left.pop()) in edges and name not in reached:
            reached.add(name)
            left += edges[name]
    return reached


def _defines(node: ast.stmt) -> list[str]:
    """The names that a statement of a module defines; '' if it defines none."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    stored = [n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    return stored or [""]


def _bound(body: Iterable[ast.stmt], outer: Scope) -> dict[str, str | None]:
    """The scope of a module or function: the dotted names of imports and aliases, None for other names."""
    scope = dict(outer)
    for node in _statements(body):
        if isinstance(node, ast.Import):
            for alias in node.names:
                scope[alias.asname or alias.name.split(".")[0]] = (
                    alias.name if alias.asname else alias.name.split(".")[0]
                )
        elif isinstance(node, ast.ImportFrom):
            scope |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                scope |= _assigned(target, node.value, scope)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            scope[node.name] = None
        else:
            names = [n for n in _own(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
            scope |= {name.id: None for name in names}
    return scope


def _assigned(target: ast.expr, value: ast.expr, scope: Scope) -> dict[str, str | None]:
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        pairs = zip(target.elts, value.elts, strict=True)
        return {k: v for one, other in pairs for k, v in _assigned(one, other, scope).items()}
    names = [n.id for n in ast.walk(target) if isinstance(n, ast.Name)]
    single = isinstance(target, ast.Name)
    return {name: _dotted(value, scope) if single else None for name in names}


def _statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of one scope in order, also those inside if, with, for and try."""
    for node in body:
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for field in ("body", "orelse", "finalbody", "handlers"):
                inner = getattr(node, field, [])
                yield from _statements(
                    [s for h in inner for s in (h.body if isinstance(h, ast.ExceptHandler) else [h])]
                )


def _own(node: ast.AST) -> Iterator[ast.AST]:
    """A node and its descendants in the same scope; comprehensions and lambdas have their own."""
    yield node
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, (ast.stmt, ast.Lambda, *_COMPREHENSIONS)):
            yield from _own(child)


def _dotted(node: ast.AST, scope: Scope) -> str | None:
    """biasfree.theory.aligned for the expression bf.theory.aligned; None outside the packages."""
    if isinstance(node, ast.Name):
        found = scope.get(node.id)
        return found if found and found.split(".")[0] in PACKAGES else None
    if isinstance(node, ast.Attribute):
        owner = _dotted(node.value, scope)
        return f"{owner}.{node.attr}" if owner else None
    return None


def _uses(node: ast.AST, scope: Scope) -> tuple[set[str], set[str]]:
    """(dotted names of the packages, plain names of the file) that are loaded below a node.

    An argument counts as a name of the file, since it may be a fixture.
    """
    found: set[str] = set()
    names: set[str] = set()

    def add(node: ast.AST, scope: Scope) -> None:
        more, others = _uses(node, scope)
        found.update(more)
        names.update(others)

    if isinstance(node, ast.Import | ast.ImportFrom):
        return found, names
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        for outside in (*getattr(node, "decorator_list", ()), *node.args.defaults, *node.args.kw_defaults):
            if outside is not None:
                add(outside, scope)
        body = [node.body] if isinstance(node, ast.Lambda) else node.body
        taken = {arg.arg: None for arg in ast.walk(node.args) if isinstance(arg, ast.arg)}
        names.update(taken)
        inner = {**scope, **taken}
        inner = inner if isinstance(node, ast.Lambda) else _bound(node.body, inner)
        for statement in body:
            add(statement, inner)
        return found, names
    if isinstance(node, _COMPREHENSIONS):
        bound = {n.id: None for g in node.generators for n in ast.walk(g.target) if isinstance(n, ast.Name)}
        for child in ast.iter_child_nodes(node):
            add(child, {**scope, **bound})
        return found, names
    if isinstance(node, ast.Attribute | ast.Name) and (dotted := _dotted(node, scope)):
        return {dotted}, names
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        return found, {node.id}
    for child in ast.iter_child_nodes(node):
        add(child, scope)
    return found, names
