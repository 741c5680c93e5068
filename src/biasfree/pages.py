"""Self-contained HTML pages: text, tables and pictures in one file without external resources.

All text is escaped unless it is `Markup`.
"""

from __future__ import annotations

import base64
import html
from collections.abc import Iterable

from biasfree.tables import Table, shown

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
body { color: #222; } h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
table { border-collapse: collapse; font-size: 0.85rem; } th { border-bottom: 1px solid #999; }
td, th { padding: 0.2rem 0.8rem 0.2rem 0; text-align: left; vertical-align: top; }
figure { display: inline-block; margin: 0.5rem 1rem 0.5rem 0; } img { max-width: 100%; }
figcaption, .note { font-size: 0.85rem; color: #555; }
"""


class Markup(str):
    """Trusted HTML: made by this module or written in a source file, never read from input."""

    __slots__ = ()


def joined(parts: Iterable[object]) -> Markup:
    """The concatenated parts; those that are not `Markup` are escaped."""
    return Markup("".join(part if isinstance(part, Markup) else html.escape(str(part)) for part in parts))


def tag(name: str, *contents: object, **attributes: object) -> Markup:
    """An HTML element. Empty attributes are omitted; a trailing underscore is dropped, as in `class_`."""
    written = (f" {key.rstrip('_')}='{joined([value])}'" for key, value in attributes.items() if value != "")
    return Markup(f"<{name}{''.join(written)}>{joined(contents)}</{name}>")


def page(title: str, parts: Iterable[object], *, style: str = "") -> str:
    """A complete HTML page."""
    head = f"<meta charset='utf-8'>{tag('title', title)}<style>{_STYLE}{style}</style>"
    return f"<!doctype html><html lang='en'><head>{head}</head><body>{joined(parts)}</body></html>\n"


def heading(text: str, *, level: int = 2) -> Markup:
    """A heading."""
    return tag(f"h{level}", text)


def note(text: str) -> Markup:
    """A paragraph in small type."""
    return tag("p", text, class_="note")


def bullets(sentences: Iterable[str]) -> Markup:
    """A list of sentences."""
    return tag("ul", *(tag("li", sentence) for sentence in sentences))


def table(contents: Table) -> Markup:
    """A table with its title as a heading."""
    return joined([heading(contents.title), rows(contents)])


def rows(contents: Table) -> Markup:
    """A table without its title."""
    return grid(contents.columns, (cells(map(shown, row)) for row in contents.rows))


def grid(columns: Iterable[object], body: Iterable[Markup]) -> Markup:
    """A table with these column names and finished rows."""
    return tag("table", tag("tr", *(tag("th", column) for column in columns)), *body)


def cells(contents: Iterable[object], **attributes: object) -> Markup:
    """A table row."""
    return tag("tr", *(tag("td", cell) for cell in contents), **attributes)


def picture(png: bytes, caption: str) -> Markup:
    """A picture embedded in the page, with its caption below."""
    data = base64.b64encode(png).decode()
    image = Markup(f"<img alt='{joined([caption])}' src='data:image/png;base64,{data}'>")
    return tag("figure", image, tag("figcaption", caption))
