"""The way from a function to the pages, figures and tests that use it, and back from a page of the theory."""

from __future__ import annotations

import re

import equations
from references import resolved

_MARKUP = re.compile(r"([\[\]$<])")


def plain(text: str) -> str:
    """Text in which only code and emphasis are markup: [ZSL25] is no link, $ no formula."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if i % 2 else _MARKUP.sub(r"\\\1", part) for i, part in enumerate(parts))


def link(public: str) -> str:
    """A link to the entry of a function in the reference."""
    return f"{{py:obj}}`{public.replace('biasfree', 'bf', 1)} <{public}>`"


def uses(public: str, *, beside: str = "") -> str:
    """Sentences: the pages, figures and tests that use a function, `beside` the page that shows them."""
    key = id(resolved(public))
    shown = [p.stem for p, objects in equations.page_users().items() if key in objects and p.stem != beside]
    figures = [p.name for p, objects in equations.figure_users().items() if key in objects]
    tests = [p for p, objects in equations.test_users().items() if key in objects]
    kinds = {
        "Explained in": [f"[{name}](../theory/{name}.md)" for name in shown],
        "Shown in": [f"[{name}](../results.md#{name.lower()})" for name in figures],
        "Tested in": [f"`{path.relative_to(equations.ROOT)}`" for path in tests],
    }
    return " ".join(f"{title} {', '.join(found)}." for title, found in kinds.items() if found)


def footer(page: str) -> str:
    """The functions that a page of the theory uses, with their sources, figures and tests."""
    used = next((objects for path, objects in equations.page_users().items() if path.stem == page), set())
    lines = []
    for stage, name, source in equations.functions():
        public = f"biasfree.{stage}.{name}"
        if id(resolved(public)) in used and stage.startswith("theory"):
            lines.append(f"- {link(public)}: {plain(source)}. {uses(public, beside=page)}\n")
    return "\n\n## Functions of this page\n\n" + "".join(lines) if lines else ""
