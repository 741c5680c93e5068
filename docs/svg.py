"""Shapes and words on a card, written as SVG.

Text stays text, in the reader's own sans-serif font. The background is white, as that of the other pictures,
so that drawings are read on dark pages too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias
from xml.sax.saxutils import escape

import numpy as np

BLUE, RED, GREEN, ORANGE, PURPLE = "#0072B2", "#B84A00", "#00795A", "#9A6A00", "#7B3FA0"
INK, GRAY, PALE = "#1b1b1b", "#595959", "#dddddd"

Point: TypeAlias = tuple[float, float]


class Drawing:
    """Shapes on a white card of a width and a height; the origin is its upper left corner."""

    def __init__(self, width: int, height: int, title: str) -> None:
        self._head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
            f'height="{height}" font-family="sans-serif" font-size="14" role="img">\n'
            f'<title>{escape(title)}</title>\n<rect width="{width}" height="{height}" rx="8" fill="white"/>\n'
        )
        self._shapes: list[str] = []

    def line(self, *points: Point, color: str = INK, width: float = 1.5, dash: str = "") -> None:
        """A line through points."""
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        style = f'stroke="{color}" stroke-width="{width}"' + (f' stroke-dasharray="{dash}"' if dash else "")
        self._shapes.append(f'<polyline points="{path}" fill="none" stroke-linejoin="round" {style}/>')

    def arrow(self, *points: Point, color: str = INK, width: float = 1.5) -> None:
        """A line through points with a head at the last one."""
        (x0, y0), (x, y) = points[-2:]
        along = np.array([x - x0, y - y0]) / np.hypot(x - x0, y - y0)
        across = np.array([-along[1], along[0]])
        back = np.array([x, y]) - (6 + width) * along
        self.line(*points[:-1], (float(back[0]), float(back[1])), color=color, width=width)
        left, right = back + 4 * across, back - 4 * across
        self.area((x, y), (left[0], left[1]), (right[0], right[1]), fill=color)

    def area(self, *points: Point, fill: str, opacity: float = 1) -> None:
        """A filled polygon."""
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self._shapes.append(f'<polygon points="{path}" fill="{fill}" fill-opacity="{opacity}"/>')

    def disk(self, x: float, y: float, r: float = 4, fill: str = INK, edge: str = "none") -> None:
        """A disk around a point."""
        self._shapes.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{r}" fill="{fill}" stroke="{edge}"/>')

    def box(self, x: float, y: float, size: Point, fill: str = "none", edge: str = INK) -> None:
        """A rectangle with its upper left corner at a point."""
        self._shapes.append(
            f'<rect x="{x}" y="{y}" width="{size[0]}" height="{size[1]}" rx="3" '
            f'fill="{fill}" stroke="{edge}"/>'
        )

    def text(
        self, x: float, y: float, words: str, *, color: str = INK, at: str = "middle", bold: bool = False
    ) -> None:
        """Words; `at` is "start", "middle" or "end"."""
        weight = ' font-weight="bold"' if bold else ""
        self._shapes.append(
            f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{at}" fill="{color}"{weight}>{escape(words)}</text>'
        )

    def lines(
        self, x: float, y: float, words: Sequence[str], *, color: str = INK, at: str = "middle"
    ) -> None:
        """Several lines of words, the first at a point."""
        for i, one in enumerate(words):
            self.text(x, y + 18 * i, one, color=color, at=at)

    def svg(self) -> str:
        return self._head + "\n".join(self._shapes) + "\n</svg>\n"
