"""Self-contained pages: text, tables and pictures in one file that fetches nothing.

Whatever enters a page is text and is escaped, unless it is `Markup`.
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
    """HTML: made by the functions of this module, or written in a source file, never read from elsewhere."""

    __slots__ = ()


def joined(parts: Iterable[object]) -> Markup:
    """The parts one after the other, escaped where they are no markup."""
    return Markup("".join(part if isinstance(part, Markup) else html.escape(str(part)) for part in parts))


def tag(name: str, *contents: object, **attributes: object) -> Markup:
    """An element with contents and attributes; empty attributes are left out, and `class_` is class."""
    said = (f" {key.rstrip('_')}='{joined([value])}'" for key, value in attributes.items() if value != "")
    return Markup(f"<{name}{''.join(said)}>{joined(contents)}</{name}>")


def page(title: str, parts: Iterable[object], *, style: str = "") -> str:
    """A whole page of these parts."""
    head = f"<meta charset='utf-8'>{tag('title', title)}<style>{_STYLE}{style}</style>"
    return f"<!doctype html><html lang='en'><head>{head}</head><body>{joined(parts)}</body></html>\n"


def heading(text: str, *, level: int = 2) -> Markup:
    """A heading."""
    return tag(f"h{level}", text)


def note(text: str) -> Markup:
    """A paragraph in small letters."""
    return tag("p", text, class_="note")


def bullets(sentences: Iterable[str]) -> Markup:
    """A list of sentences."""
    return tag("ul", *(tag("li", sentence) for sentence in sentences))


def table(contents: Table) -> Markup:
    """A table under its title."""
    return joined([heading(contents.title), rows(contents)])


def rows(contents: Table) -> Markup:
    """A table without its title."""
    return grid(contents.columns, (cells(map(shown, row)) for row in contents.rows))


def grid(columns: Iterable[object], body: Iterable[Markup]) -> Markup:
    """A table of these columns whose rows are made already."""
    return tag("table", tag("tr", *(tag("th", column) for column in columns)), *body)


def cells(contents: Iterable[object], **attributes: object) -> Markup:
    """A row of a table."""
    return tag("tr", *(tag("td", cell) for cell in contents), **attributes)


def picture(png: bytes, caption: str) -> Markup:
    """A picture inside the page, above its caption."""
    data = base64.b64encode(png).decode()
    image = Markup(f"<img alt='{joined([caption])}' src='data:image/png;base64,{data}'>")
    return tag("figure", image, tag("figcaption", caption))
