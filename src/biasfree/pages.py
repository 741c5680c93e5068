"""Self-contained pages: text, tables and pictures in one file that fetches nothing."""

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


def page(title: str, parts: Iterable[str], *, style: str = "") -> str:
    """A whole page of these parts, each of them HTML."""
    head = f"<meta charset='utf-8'><title>{html.escape(title)}</title><style>{_STYLE}{style}</style>"
    return f"<!doctype html><html lang='en'><head>{head}</head><body>{''.join(parts)}</body></html>\n"


def heading(text: str, *, level: int = 2, anchor: str = "") -> str:
    """A heading, which may be the target of a link."""
    place = f" id='{html.escape(anchor)}'" if anchor else ""
    return f"<h{level}{place}>{html.escape(text)}</h{level}>"


def note(text: str) -> str:
    """A paragraph in small letters."""
    return f"<p class='note'>{html.escape(text)}</p>"


def bullets(sentences: Iterable[str]) -> str:
    """A list of sentences."""
    return "<ul>" + "".join(f"<li>{html.escape(sentence)}</li>" for sentence in sentences) + "</ul>"


def table(contents: Table) -> str:
    """A table under its title."""
    return heading(contents.title) + rows(contents)


def rows(contents: Table) -> str:
    """A table without its title."""
    head = "".join(f"<th>{html.escape(column)}</th>" for column in contents.columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(shown(cell))}</td>" for cell in row) + "</tr>"
        for row in contents.rows
    )
    return f"<table><tr>{head}</tr>{body}</table>"


def picture(png: bytes, caption: str) -> str:
    """A picture inside the page, above its caption."""
    text, data = html.escape(caption), base64.b64encode(png).decode()
    image = f"<img alt='{text}' src='data:image/png;base64,{data}'>"
    return f"<figure>{image}<figcaption>{text}</figcaption></figure>"
