"""HTML cards of objects for notebooks: a title, lines of text, and one small SVG picture.

Everything is inline and escaped, without scripts, style sheets or outside resources. Lines and texts have the
color of the text around them, so that cards are readable on light and dark pages.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from biasfree.arrays import Float
from biasfree.markup import Markup, tag

#: Pixels of a picture.
_WIDTH = 180
_HEIGHT = 90
_MARGIN = 8
_SHOWN = 200  # points of a picture
_ITEMS = 12  # items of a list
_LETTERS = 400  # of one text
_COLORS = {1: "#c0392b", 0: "#8a8a8a", -1: "#2980b9"}  # by sign; shapes differ, too


def card(
    title: str, lines: Iterable[object] = (), picture: Markup | None = None, *, items: Sequence[str] = ()
) -> str:
    """A picture beside a title, lines of text, and a list of at most 12 items."""
    text = [tag("strong", _short(title)), *(tag("div", _short(line)) for line in lines if line)]
    if items:
        more = [f"… and {len(items) - _ITEMS} more"] if len(items) > _ITEMS else []
        rows = [tag("li", _short(item)) for item in (*items[:_ITEMS], *more)]
        text.append(tag("ul", *rows, style="margin: 0.2em 0; padding-left: 1.4em"))
    look = "display: flex; flex-wrap: wrap; gap: 1em; align-items: center; text-align: left"
    parts = [tag("div", picture)] if picture else []
    return tag("div", *parts, tag("div", *text, style="flex: 1 1 20em; min-width: 0"), style=look)


def curve(t: Float[np.ndarray, "T"], y: Float[np.ndarray, "T"], label: str) -> Markup | None:
    """A line over time, logarithmic if y > 0 falls below a hundredth; None without finite times."""
    finite = np.isfinite(t)
    t = t[finite]
    y = y[finite]
    if not len(t):
        return None
    logarithmic = bool(0 < y.min() < y.max() / 100)
    heights = np.log10(y) if logarithmic else y
    chosen = np.unique(np.linspace(0, len(t) - 1, min(len(t), _SHOWN)).round().astype(int))
    points = _placed(t[chosen], heights[chosen])
    if len(points) == 1:
        drawn = _dots(points, "currentColor", "round")
    else:
        d = "M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in points)
        drawn = tag("path", d=d, fill="none", stroke="currentColor", stroke_width=1.5)
    scale = ", logarithmic" if logarithmic else ""
    return _picture(f"{label} over time{scale}, {y[0]:.3g} to {y[-1]:.3g}", drawn)


def scatter(x: Float[np.ndarray, "P 2"], sign: Float[np.ndarray, "P"], label: str) -> Markup:
    """Points of the plane: red disks where `sign` is positive, blue squares where it is negative."""
    chosen = np.unique(np.linspace(0, len(x) - 1, min(len(x), _SHOWN)).round().astype(int))
    points = _placed(*x[chosen].T)
    sign = np.sign(sign[chosen])
    drawn = [
        _dots(points[sign == s], color, "square" if s < 0 else "round")
        for s, color in _COLORS.items()
        if (sign == s).any()
    ]
    some = f", {len(chosen)} of {len(x)}" if len(chosen) < len(x) else ""
    return _picture(label + some, *drawn)


def _placed(a: Float[np.ndarray, "N"], b: Float[np.ndarray, "N"]) -> Float[np.ndarray, "N 2"]:
    """Points in pixels of a picture, y upward; a constant coordinate is in the middle."""

    def scaled(values: np.ndarray, length: int) -> np.ndarray:
        values = values / (np.abs(values).max() or 1.0)  # no difference overflows
        reach = float(np.ptp(values))
        share = (values - values.min()) / reach if reach > 0 else np.full(len(values), 0.5)
        return _MARGIN + share * (length - 2 * _MARGIN)

    return np.column_stack([scaled(a, _WIDTH), _HEIGHT - scaled(b, _HEIGHT)])


def _dots(points: Float[np.ndarray, "N 2"], color: str, cap: str) -> Markup:
    d = "".join(f"M{a:.1f} {b:.1f}h0" for a, b in points)
    return tag("path", d=d, stroke=color, stroke_width=4, stroke_linecap=cap, stroke_opacity=0.7)


def _picture(label: str, *parts: Markup) -> Markup:
    """An SVG element; `label` is read aloud, and shown where the pointer rests."""
    return tag(
        "svg",
        tag("title", _short(label)),
        *parts,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        width=_WIDTH,
        height=_HEIGHT,
        role="img",
    )


def _short(text: object) -> str:
    text = str(text)
    return text if len(text) <= _LETTERS else text[:_LETTERS] + " …"
