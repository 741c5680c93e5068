"""HTML pages without scripts or outside resources, for screens of any width and for paper.

All text is escaped unless it is `Markup`. Elements are those of `markup`.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
from pathlib import Path

from biasfree.markup import Markup, joined, tag
from biasfree.tables import Table, shown

_STYLE = Path(__file__).with_suffix(".css")


def page(title: str, parts: Iterable[object], *, style: str = "", header: Iterable[object] = ()) -> str:
    """A complete HTML page: a link past the header, the header, the main part."""
    above = joined(header)
    head = joined(
        [
            tag("meta", charset="utf-8"),
            tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
            tag("title", title),
            tag("style", Markup(_STYLE.read_text(encoding="utf-8") + style)),
        ]
    )
    body = joined(
        [
            tag("a", "Skip to the main part", href="#main", class_="skip") if above else "",
            tag("header", above) if above else "",
            tag("main", *parts, id="main"),
        ]
    )
    return f"<!doctype html><html lang='en'><head>{head}</head><body>{body}</body></html>\n"


def heading(text: object, *, level: int = 2, **attributes: object) -> Markup:
    """A heading."""
    return tag(f"h{level}", text, **attributes)


def note(*text: object) -> Markup:
    """A paragraph in small type."""
    return tag("p", *text, class_="note")


def bullets(sentences: Iterable[object], **attributes: object) -> Markup:
    """A list of sentences."""
    return tag("ul", *(tag("li", sentence) for sentence in sentences), **attributes)


def folded(title: object, *contents: object, opened: bool = False, **attributes: object) -> Markup:
    """Contents below a title that opens and closes them; `opened` shows them at first."""
    return tag("details", tag("summary", title), *contents, open="open" if opened else "", **attributes)


def table(contents: Table) -> Markup:
    """A table with its title as a heading."""
    return joined([heading(contents.title), rows(contents)])


def rows(contents: Table) -> Markup:
    """A table without its title."""
    body = (cells(map(shown, row)) for row in contents.rows)
    return grid(contents.columns, body, label=contents.title)


def grid(columns: Iterable[object], body: Iterable[Markup], *, label: str, class_: str = "") -> Markup:
    """A table with these column names and finished rows, in a box of its own that scrolls sideways.

    `label` names the table to screen readers; the class "text" is for tables with sentences in their cells.
    """
    head = tag("thead", tag("tr", *(tag("th", column, scope="col") for column in columns)))
    whole = tag("table", head, tag("tbody", *body), class_=class_)
    return tag("div", whole, class_="wide", tabindex=0, role="group", aria_label=label)


def cells(contents: Iterable[object], *, named: bool = False, **attributes: object) -> Markup:
    """A table row; where it is `named`, its first cell is the header of the row."""
    first, *rest = contents
    begin = tag("th", first, scope="row") if named else tag("td", first)
    return tag("tr", begin, *(tag("td", cell) for cell in rest), **attributes)


def picture(png: bytes, caption: str) -> Markup:
    """A picture embedded in the page, with its caption below."""
    data = base64.b64encode(png).decode()
    return tag("figure", image(f"data:image/png;base64,{data}", png, caption), tag("figcaption", caption))


def image(address: str, png: bytes, description: str, **attributes: object) -> Markup:
    """The PNG picture at an address, with its description for those who cannot see it.

    Its size in pixels keeps its place on the page before it is loaded.
    """
    width, height = (int.from_bytes(png[begin : begin + 4], "big") for begin in (16, 20))
    return tag("img", src=address, alt=description, width=width, height=height, **attributes)
