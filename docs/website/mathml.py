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
#: An angle of a mean: docutils lets single angles grow as high as all that stands beside them.
_ANGLE = re.compile(r"(?<!\\left)(?<!\\right)\\(l|r)angle(?![a-z])")
#: A sign after a comma, which docutils would set as a difference.
_SIGN = re.compile(r",\s*-\s*(\w|\\\w+)")

#: A function such as ln, before and after which docutils leaves no space.
_BEFORE = re.compile(r"(?<=[\w})])\s*(?=\\(?:ln|exp|sin|cos|operatorname)(?![A-Za-z]))")
_NAMED = r"\\(?:ln|exp|sin|cos)(?![A-Za-z])|\\operatorname\{\w+\}"
_AFTER = re.compile(rf"({_NAMED})\s*(?=\\(?!left|right)[A-Za-z]|\w)")
#: What docutils writes → what looks as in TeX. Tight accents touch their letters in many fonts.
_SET = {
    '<mo stretchy="false">/</mo>': '<mo stretchy="false" lspace="0" rspace="0">/</mo>',
    "<mo>max</mo>": '<mo lspace="0" rspace="0">max</mo>',
    "<mo>min</mo>": '<mo lspace="0" rspace="0">min</mo>',
    'accent="true"': 'accent="false"',
    '<mo stretchy="false">˙</mo>': '<mo stretchy="false" style="font-size: 150%">˙</mo>',
}


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer under the name that conf.py chooses."""
    app.add_html_math_renderer("mathml", (_visit_inline, None), (_visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def converted(tex: str, *, as_block: bool = False) -> str:
    """A formula as MathML, with the spaces of TeX: none around a slash or max, some below an accent."""
    made = tex2mathml(prepared(tex), as_block=as_block)
    for old, new in _SET.items():
        made = made.replace(old, new)
    return made


def prepared(tex: str) -> str:
    """The formula as docutils sets it well: fences, indices beside accented letters, spaces around ln."""
    tex = re.sub(r"\\lvert(?![a-z])", r"\\left|", re.sub(r"\\rvert(?![a-z])", r"\\right|", tex))
    tex = _ANGLE.sub(lambda found: {"l": r"\left\langle", "r": r"\right\rangle"}[found[1]], tex)
    tex = _AFTER.sub(r"\1\\,", _BEFORE.sub(r"\\,", tex))
    tex = _SIGN.sub(r", {-\1}", tex)
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
        return converted(node.astext(), as_block=as_block)
    except (MathError, SyntaxError) as error:
        raise SphinxError(f"{node.source}:{node.line}: the formula {node.astext()!r}: {error}") from error
