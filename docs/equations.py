"""Write docs/equations.md: equation in both versions → function → test → figure, from the docstrings.

    python docs/equations.py

A function belongs in the table if its docstring has a `Reference:`. Tests and figures are found by name.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

from biasfree.files import replacing

ROOT = Path(__file__).parent.parent
TABLE = ROOT / "docs" / "equations.md"
STAGES = ("theory", "networks", "data", "diagnostics")
KINDS = r"Thm|Corollary|Lemma|Lemmas|Assumption|Condition|Eqs?|Figs?|App|Sec|Proposition|Conjecture"
ITEM = re.compile(
    rf"\b({KINDS})\.? ([A-Z]?\.?\d+(?:\.\d+)?[a-z]?(?:(?:, | and | to )\d+[a-z]?\b)*|[A-Z](?:\.\d)?\b)"
)
PUBLISHED = re.compile(rf"\(TMLR ([^)]*)\)|\bTMLR ((?:{KINDS})\b[^;(]*)")
TMLR = {  # the numbers known to differ or to stay; other numbers of that version are not known
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

From each equation of [ZSL25] and of its neighbours to the function that computes it, the tests that check it
and the places that show it. Generated from the docstrings by `make equations`; a test fails when it is stale.

[ZSL25] is Zhang, Saxe & Latham, *When Are Bias-Free ReLU Networks Effectively Linear Networks?*; v1 is its
first version (arXiv 2406.12615v1), TMLR the published one. A dash under TMLR: its number there is not known
to us. "Derived here": not in the paper.

| v1 | TMLR | function | source | tests | shown in |
|---|---|---|---|---|---|
"""


def table() -> str:
    """The whole file."""
    return HEAD + "\n".join(row(stage, name, reference) for stage, name, reference in functions()) + "\n"


def functions() -> Iterator[tuple[str, str, str]]:
    """(stage, name, reference) of every public function whose docstring has a reference."""
    for stage in STAGES:
        module = importlib.import_module(f"biasfree.{stage}")
        for name in module.__all__:
            text = inspect.getdoc(getattr(module, name)) or ""
            if found := re.search(r"Reference: (.+?)(?:\n\n|\Z)", text, flags=re.DOTALL):
                yield stage, name, " ".join(found[1].split()).rstrip(".")


def row(stage: str, name: str, reference: str) -> str:
    """One line of the table."""
    ours, theirs = numbers(reference)
    cells = [ours or "–", theirs or "–", f"`bf.{stage}.{name}`", reference, tests(name), figures(name)]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def numbers(reference: str) -> tuple[str, str]:
    """What the reference cites of [ZSL25], in the first version and in TMLR."""
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


def tests(name: str) -> str:
    """The test files that name the function, theorems first."""
    folders = ("theorems", "theory", "networks", "data", "diagnostics", "experiments")
    paths = [path for folder in folders for path in sorted((ROOT / "tests" / folder).glob("test_*.py"))]
    paths = [path for path in paths if path.stem != "test_coverage"]  # which names every result
    return (
        ", ".join(f"[{p.stem[5:]}](../tests/{p.parent.name}/{p.name})" for p in paths if mentions(p, name))
        or "–"
    )


def figures(name: str) -> str:
    """The figures and pages that use the function."""
    folders = sorted(p.parent for p in (ROOT / "src" / "biasfree" / "experiments").glob("*/__init__.py"))
    shown = {folder.name for folder in folders if any(mentions(p, name) for p in folder.glob("*.py"))}
    pages = [
        p for p in sorted((ROOT / "docs" / "theory").glob("*.md")) if p.stem != "README" and mentions(p, name)
    ]
    return (
        ", ".join(
            [*(f"`{figure}`" for figure in sorted(shown)), *(f"[{p.stem}](theory/{p.name})" for p in pages)]
        )
        or "–"
    )


def mentions(path: Path, name: str) -> bool:
    return re.search(rf"\b{name}\b", path.read_text()) is not None


if __name__ == "__main__":
    with replacing(TABLE) as file:
        file.write(table().encode())
