"""The code of a source file: its text without docstrings, comments and blank lines."""

from __future__ import annotations

import ast
import io
import tokenize
from functools import cache

_STRINGS = (ast.Constant, ast.JoinedStr)


@cache
def code(source: str) -> str:
    """The lines of a source that are executed; docstrings are empty, comments and blank lines removed.

    The result is text, not a syntax tree, because the form of a tree depends on the version of Python.
    """
    lines = source.split("\n")
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
    nodes = list(ast.walk(ast.parse(source)))
    docstrings = [node.value for node in nodes if isinstance(node, ast.Expr) and _is_text(node.value)]
    for node in sorted(docstrings, key=lambda node: (node.lineno, node.col_offset), reverse=True):
        first, last = node.lineno - 1, _last_row(node)
        before, after = lines[first].encode()[: node.col_offset], lines[last].encode()[node.end_col_offset :]
        lines[first : last + 1] = [f'{before.decode()}""{after.decode()}', *[""] * (last - first)]
    inside = {
        row
        for node in nodes
        if isinstance(node, _STRINGS) and node not in docstrings
        for row in range(node.lineno - 1, _last_row(node))
    }
    ends = (line if row in inside else line.rstrip() for row, line in enumerate(lines))
    kept = (line for row, line in enumerate(ends) if line or row in inside)  # blank lines of a text are data
    return "\n".join(kept) + "\n"


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _last_row(node: ast.expr) -> int:
    return (node.end_lineno or node.lineno) - 1
