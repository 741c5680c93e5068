"""The way from a function to the pages, figures and tests that use it, and back from a page of the theory."""

from __future__ import annotations

import re

import equations

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
    shown = [p.stem for p in equations.users(public, equations.page_texts()) if p.stem != beside]
    figures = [p.name for p in equations.users(public, equations.figure_texts())]
    tests = equations.users(public, equations.test_texts())
    kinds = {
        "Explained in": [f"[{name}](../theory/{name}.md)" for name in shown],
        "Shown in": [f"[{name}](../results.md#{name.lower()})" for name in figures],
        "Tested in": [f"`{path.relative_to(equations.ROOT)}`" for path in tests],
    }
    return " ".join(f"{title} {', '.join(found)}." for title, found in kinds.items() if found)


def footer(page: str) -> str:
    """The functions that a page of the theory uses, with their sources, figures and tests."""
    own = {path: text for path, text in equations.page_texts().items() if path.stem == page}
    lines = []
    for stage, name, source in equations.functions():
        public = f"biasfree.{stage}.{name}"
        if stage.startswith("theory") and equations.users(public, own):
            lines.append(f"- {link(public)}: {plain(source)}. {uses(public, beside=page)}\n")
    return "\n\n## Functions of this page\n\n" + "".join(lines) if lines else ""
