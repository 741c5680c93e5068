"""Write OUT/equations.md: a table from equations to functions, tests and figures; the site has it too.

    python docs/equations.py OUT

A function is in the table if its docstring has a `Reference:`. Tests, figures and pages are linked where they
use it; `references.py` resolves their imports.
"""

from __future__ import annotations

import importlib
import inspect
import os
import re
import sys
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path

from biasfree.files import replacing
from biasfree_papers import FIGURES
from references import resolved, used

ROOT = Path(__file__).parent.parent
PAPERS = ROOT / "papers" / "src" / "biasfree_papers"
DOCS = ROOT / "docs"
STAGES = ("theory", "theory.neighbors", "networks", "data", "diagnostics")
KINDS = r"Thm|Corollary|Lemma|Lemmas|Assumption|Condition|Eqs?|Figs?|App|Sec|Proposition|Conjecture"
ITEM = re.compile(
    rf"\b({KINDS})\.? ([A-Z]?\.?\d+(?:\.\d+)?[a-z]?(?:(?:, | and | to )\d+[a-z]?\b)*|[A-Z](?:\.\d)?\b)"
)
PUBLISHED = re.compile(rf"\(TMLR ([^)]*)\)|\bTMLR ((?:{KINDS})\b[^;(]*)")
NAMED = re.compile(rf"\bbf\.((?:{'|'.join(sorted(STAGES, key=len, reverse=True))})\.\w+)")
TMLR = {  # first version → published version; other published numbers are not known
    "Assumption 4": "Assumption 7",
    "Thm. 5": "Thm. 8",
    "Eq. 40": "Conjecture 11",
    "App. F.2": "Proposition 12",
    "Fig. 1": "Fig. 3",
    "Fig. 1a": "Fig. 3a",
    "Fig. 1b": "Fig. 3b",
    "Fig. 2": "Fig. 6",
    "Fig. 3": "Fig. 5",
    "Thm. 1": "Thm. 1",
    "Corollary 2": "Corollary 2",
    "Condition 3": "Condition 3",
}
HEAD = """# Equations

From each equation of [ZSL25] and of neighboring papers to the function that computes it, the tests that call
it, and the figures and pages that use it. `make equations` writes this page from docstrings and imports.

[ZSL25] is Zhang, Saxe & Latham, *When Are Bias-Free ReLU Networks Effectively Linear Networks?*; v1 is its
first version (arXiv 2406.12615v1), TMLR the published one. A dash under TMLR means that its number there is
not known to us. "Derived here" means that it is not in the paper.

| v1 | TMLR | function | source | tests | shown in |
|---|---|---|---|---|---|
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
    ours, theirs = numbers(reference)
    public = f"biasfree.{stage}.{name}"
    linked = f"[`bf.{stage}.{name}`]({source(public, at)})"
    cells = [ours or "–", theirs or "–", linked, reference, tests(public, at), shown(public, at)]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def numbers(reference: str) -> tuple[str, str]:
    """The items of [ZSL25] that a reference cites: numbers in the first version, and in TMLR."""
    cited = reference[reference.index("[ZSL25]") :] if "[ZSL25]" in reference else ""
    published = " ".join(one or other for one, other in PUBLISHED.findall(cited))
    ours = items(PUBLISHED.sub("", cited))
    theirs = [*(TMLR[item] for item in ours if item in TMLR), *items(published)]
    return ", ".join(ours), ", ".join(dict.fromkeys(theirs))


def items(text: str) -> list[str]:
    """'Eqs. 39 and 40' → ['Eq. 39', 'Eq. 40'], each once."""
    found = []
    for kind, which in ITEM.findall(text):
        single = {"Eqs": "Eq", "Figs": "Fig", "Lemmas": "Lemma"}.get(kind, kind)
        dot = "." if single in ("Thm", "Eq", "Fig", "App", "Sec") else ""
        found += [f"{single}{dot} {number}" for number in re.split(r", | and | to ", which)]
    return list(dict.fromkeys(found))


def source(public: str, at: Path) -> str:
    """A link to the definition of a function: file and line."""
    found = resolved(public)
    path = Path(inspect.getsourcefile(found) or "").resolve()
    return f"{os.path.relpath(path, at)}#L{inspect.getsourcelines(found)[1]}"


def tests(public: str, at: Path) -> str:
    """The test files in which a test calls the function, those of the theory first."""
    users = [path for path, objects in test_users().items() if id(resolved(public)) in objects]
    return ", ".join(f"[{p.stem[5:]}]({os.path.relpath(p, at)})" for p in users) or "–"


def shown(public: str, at: Path) -> str:
    """The figures and pages that use the function."""
    figures = [f"`{p.name}`" for p, objects in figure_users().items() if id(resolved(public)) in objects]
    pages = [p for p, objects in page_users().items() if id(resolved(public)) in objects]
    return ", ".join([*figures, *(f"[{p.stem}]({os.path.relpath(p, at)})" for p in pages)]) or "–"


Users = dict[Path, set[int]]
"""The objects that each file or folder uses, by identity."""


@cache
def test_users() -> Users:
    folders = ("theory", "networks", "data", "diagnostics", "papers")
    paths = [path for folder in folders for path in sorted((ROOT / "tests" / folder).rglob("test_*.py"))]
    return {path: identities(used(path.read_text(), is_test)) for path in paths}


def is_test(name: str) -> bool:
    return name.startswith("test_")


@cache
def page_users() -> Users:
    """The objects that the Python of a page and its script use, and those that its text names in full."""
    pages = [path for path in sorted((ROOT / "docs" / "theory").glob("*.md")) if path.stem != "README"]
    found = {}
    for page in pages:
        text = page.read_text()
        blocks = "\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL))
        named = {f"biasfree.{name}" for name in NAMED.findall(text)}
        found[page] = identities(used(blocks) | used(page.with_suffix(".py").read_text()) | named)
    return found


@cache
def figure_users() -> Users:
    """The objects that the files of a figure use, also through files that several figures share."""
    folders = sorted(PAPERS / module.rpartition(".")[2] for modules in FIGURES.values() for module in modules)
    return {folder: identities(used_by_figure(folder)) for folder in folders}


def used_by_figure(folder: Path) -> set[str]:
    found: set[str] = set()
    left: list[tuple[Path, str | None]] = [(path, None) for path in sorted(folder.glob("*.py"))]
    seen = set()
    while left:
        if (item := left.pop()) in seen:
            continue
        seen.add(item)
        path, name = item
        names = used(path.read_text(), partial(_asked, name))
        found |= names
        left += [one for dotted in names if (one := shared(dotted)) is not None]
    return found


def _asked(name: str | None, one: str) -> bool:
    """Whether a definition counts, if only that of this name does, or all do."""
    return name in (None, one)


def shared(dotted: str) -> tuple[Path, str] | None:
    """(file, name) of a definition in the package of figures, such as those that several share; else None."""
    if not dotted.startswith("biasfree_papers."):
        return None
    *module, name = dotted.split(".")[1:]
    path = PAPERS.joinpath(*module).with_suffix(".py")
    return (path, name) if module and path.is_file() else None


def identities(names: set[str]) -> set[int]:
    return {id(resolved(name)) for name in names}


if __name__ == "__main__":
    out = Path(sys.argv[1]).resolve()
    with replacing(out / "equations.md") as file:
        file.write(table(out).encode())
    print(out / "equations.md")
