"""Write OUT/equations.md: a table from equations to functions, tests and figures; the site has it too.

    python docs/equations.py OUT

A function is in the table if its docstring has a `Reference:`, which `@result` reads too. Tests, figures and
pages are linked where they name it.
"""

from __future__ import annotations

import importlib
import inspect
import os
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from biasfree.files import replacing
from biasfree_papers import FIGURES

ROOT = Path(__file__).parent.parent
PAPERS = ROOT / "papers" / "src" / "biasfree_papers"
DOCS = ROOT / "docs"
STAGES = ("theory", "networks", "data", "diagnostics")
HEAD = """# Equations

From each equation of [ZSL25] and of related papers to the function that computes it, the tests that call
it, and the figures and pages that use it. `make equations` writes this page from docstrings and sources.

[ZSL25] is Zhang, Saxe & Latham, *When Are Bias-Free ReLU Networks Effectively Linear Networks?*; numbers are
those of its first version (arXiv 2406.12615v1), after "TMLR" those of the published one. "Derived here" means
that it is not in the paper.

| source | function | tests | shown in |
|---|---|---|---|
"""


def table(at: Path = DOCS) -> str:
    """The text of the page, with links for a page in the folder `at`."""
    return HEAD + "\n".join(row(*found, at) for found in functions()) + "\n"


def functions() -> Iterator[tuple[str, str, str]]:
    """(stage, name, reference) of every public function whose docstring has a reference."""
    for stage in STAGES:
        module = importlib.import_module(f"biasfree.{stage}")
        for name in module.__all__:
            text = inspect.getdoc(getattr(module, name)) or ""
            if found := re.search(r"Reference: (.+?)(?:\n\n|\Z)", text, flags=re.DOTALL):
                yield stage, name, " ".join(found[1].split()).rstrip(".")


def row(stage: str, name: str, reference: str, at: Path) -> str:
    """One line of the table."""
    public = f"biasfree.{stage}.{name}"
    linked = f"[`bf.{stage}.{name}`]({source(public, at)})"
    cells = [reference, linked, tests(public, at), shown(public, at)]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def source(public: str, at: Path) -> str:
    """A link to the definition of a function: file and line."""
    room, _, name = public.rpartition(".")
    found = inspect.unwrap(getattr(importlib.import_module(room), name))
    path = Path(inspect.getsourcefile(found) or "").resolve()
    return f"{os.path.relpath(path, at)}#L{inspect.getsourcelines(found)[1]}"


def tests(public: str, at: Path) -> str:
    """The test files that name the function, those of the theory first."""
    found = users(public, test_texts())
    return ", ".join(f"[{p.stem[5:]}]({os.path.relpath(p, at)})" for p in found) or "–"


def shown(public: str, at: Path) -> str:
    """The figures and pages that name the function."""
    figures = [f"`{p.name}`" for p in users(public, figure_texts())]
    pages = [f"[{p.stem}]({os.path.relpath(p, at)})" for p in users(public, page_texts())]
    return ", ".join([*figures, *pages]) or "–"


def users(public: str, texts: dict[Path, str]) -> list[Path]:
    """The files or folders whose text names a function."""
    return [path for path, text in texts.items() if names(text, *public.split(".")[-2:])]


def names(text: str, room: str, name: str) -> bool:
    """Whether a text has ROOM.NAME, also under another name of the room, or imports NAME."""
    if name not in text:
        return False
    others = re.findall(rf"\b{room} as (\w+)|^ *(\w+) = bf\.(?:\w+\.)*{room}$", text, re.MULTILINE)
    rooms = "|".join([room, *("".join(other) for other in others)])
    return bool(
        re.search(rf"\b(?:{rooms})\.{name}\b|\bimport .*\b{name}\b|^    {name},$", text, re.MULTILINE)
    )


@cache
def test_texts() -> dict[Path, str]:
    folders = ("theory", "networks", "data", "diagnostics", "papers")
    paths = [path for folder in folders for path in sorted((ROOT / "tests" / folder).rglob("test_*.py"))]
    return {path: path.read_text() for path in paths}


@cache
def page_texts() -> dict[Path, str]:
    pages = [path for path in sorted((DOCS / "theory").glob("*.md")) if path.stem != "README"]
    return {page: page.read_text() for page in pages}


@cache
def figure_texts() -> dict[Path, str]:
    """The sources of every figure, with a folder of `shared` that it runs."""
    names = sorted(module.rpartition(".")[2] for modules in FIGURES.values() for module in modules)
    texts = {PAPERS / name: _sources(PAPERS / name) for name in names}
    shared = {path.parent.name: _sources(path.parent) for path in (PAPERS / "shared").glob("*/compute.py")}
    for folder, text in texts.items():
        texts[folder] += "".join(more for name, more in shared.items() if f"shared.{name}" in text)
    return texts


def _sources(folder: Path) -> str:
    return "".join(path.read_text() for path in sorted(folder.glob("*.py")))


if __name__ == "__main__":
    out = Path(sys.argv[1]).resolve()
    with replacing(out / "equations.md") as file:
        file.write(table(out).encode())
    print(out / "equations.md")
