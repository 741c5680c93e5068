"""A renderer of formulas for Sphinx: LaTeX to MathML while building, so that pages need no script."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.errors import SphinxError

if TYPE_CHECKING:
    from sphinx.application import Sphinx

#: An accented letter with an index, which docutils would set under the letter.
_ACCENTED = re.compile(r"(\\(?:dot|hat|tilde|bar)\s*(?:\{[^{}]*\}|\\?[A-Za-z]+))(?=_)")
#: A bar of an absolute value: docutils sets single bars as relations, with wide spaces.
_BAR = re.compile(r"(?<!\\left)(?<!\\right)(?<!\\)\|")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer under the name that conf.py chooses."""
    app.add_html_math_renderer("mathml", (_visit_inline, None), (_visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def prepared(tex: str) -> str:
    """The formula as docutils sets it well: bars in pairs as fences, indices beside accented letters."""
    tex = re.sub(r"\\lvert(?![a-z])", r"\\left|", re.sub(r"\\rvert(?![a-z])", r"\\right|", tex))
    sides = iter([r"\left|", r"\right|"] * len(tex))
    return _ACCENTED.sub(r"\1{}", _BAR.sub(lambda _: next(sides), tex))


def _visit_inline(translator: Any, node: nodes.math) -> None:
    translator.body.append(_rendered(node, as_block=False))
    raise nodes.SkipNode


def _visit_block(translator: Any, node: nodes.math_block) -> None:
    translator.body.append(f'<div class="formula">{_rendered(node, as_block=True)}</div>')
    raise nodes.SkipNode


def _rendered(node: nodes.Element, *, as_block: bool) -> str:
    try:
        return tex2mathml(prepared(node.astext()), as_block=as_block)
    except (MathError, SyntaxError) as error:
        raise SphinxError(f"{node.source}:{node.line}: the formula {node.astext()!r}: {error}") from error
