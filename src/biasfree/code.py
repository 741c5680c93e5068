"""The code of a source file: its text without docstrings, comments and blank lines."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Sequence
from functools import cache, lru_cache

_STRINGS = (ast.Constant, ast.JoinedStr)


@cache
def code(source: str) -> str:
    """The lines of a source that are executed; docstrings are empty, comments and blank lines removed.

    The result is text, not a syntax tree, because the form of a tree depends on the version of Python.
    """
    nodes, lines = syntax_nodes(source), source.split("\n")
    strings = [node for node in nodes if isinstance(node, _STRINGS)]
    for row, column in _comments(source, lines, strings):
        lines[row] = lines[row][:column]
    docstrings = [node.value for node in nodes if isinstance(node, ast.Expr) and _is_text(node.value)]
    for node in sorted(docstrings, key=lambda node: (node.lineno, node.col_offset), reverse=True):
        first, last = node.lineno - 1, _last_row(node)
        before, after = lines[first].encode()[: node.col_offset], lines[last].encode()[node.end_col_offset :]
        lines[first : last + 1] = [f'{before.decode()}""{after.decode()}', *[""] * (last - first)]
    inside = {
        row for node in strings if node not in docstrings for row in range(node.lineno - 1, _last_row(node))
    }
    ends = (line if row in inside else line.rstrip() for row, line in enumerate(lines))
    kept = (line for row, line in enumerate(ends) if line or row in inside)  # blank lines of a text are data
    return "\n".join(kept) + "\n"


@lru_cache(maxsize=1)  # for those that ask for the same source one after the other
def syntax_nodes(source: str) -> tuple[ast.AST, ...]:
    """All nodes of the syntax tree of a source."""
    return tuple(ast.walk(ast.parse(source)))


def _comments(source: str, lines: list[str], strings: Sequence[ast.expr]) -> list[tuple[int, int]]:
    """Row and column of each comment. On a line without strings every # begins one; others are tokenized."""
    found = [(row, line.index("#")) for row, line in enumerate(lines) if "#" in line]
    quoted = {row for node in strings for row in range(node.lineno - 1, _last_row(node) + 1)}
    if quoted.isdisjoint(row for row, _ in found):
        return found
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    starts = [token.start for token in tokens if token.type == tokenize.COMMENT]
    return [(row - 1, column) for row, column in starts]


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _last_row(node: ast.expr) -> int:
    return (node.end_lineno or node.lineno) - 1
