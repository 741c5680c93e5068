"""HTML and SVG elements: text is escaped unless it is `Markup`."""

from __future__ import annotations

import html
from collections.abc import Iterable

#: Elements that have no contents and no end tag.
_VOID = ("img", "meta", "link")


class Markup(str):
    """Trusted HTML: made by this module or written in a source file, never read from input."""

    __slots__ = ()


def joined(parts: Iterable[object]) -> Markup:
    """The concatenated parts; those that are not `Markup` are escaped."""
    return Markup("".join(part if isinstance(part, Markup) else html.escape(str(part)) for part in parts))


def tag(name: str, /, *contents: object, **attributes: object) -> Markup:
    """An HTML element. Attributes that are None or "" are omitted; in their names a trailing underscore is
    dropped and others become hyphens, as in `class_` and `aria_label`."""
    written = (
        f" {key.rstrip('_').replace('_', '-')}='{joined([value])}'"
        for key, value in attributes.items()
        if value is not None and value != ""
    )
    begin = f"<{name}{''.join(written)}>"
    return Markup(begin if name in _VOID else f"{begin}{joined(contents)}</{name}>")
