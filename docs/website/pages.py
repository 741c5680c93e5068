"""The pages of the site, from the Markdown of the repository: cells that run, links that lead to other pages.

A block of Python becomes a cell, which the build executes; a block of `output`, or of `text` where lines are
broken, is dropped, since the cell shows its own. Names such as `bf.theory.white_flow`
lead to the reference. Links between files of the repository lead to their pages; those to files that have
none, such as sources, become plain text.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import PurePosixPath
from typing import Any

import nbformat
from nbformat import v4

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")
CODE = re.compile(r"(?<![\[`])`(bf(?:\.\w+)+)(\([^`]*\))?`(?!\])")
#: A part that is folded away, such as a solution; a notebook shows it under its title.
FOLD = re.compile(r"^<details><summary>(.*?)</summary>\n(.*?)^</details>\n", re.MULTILINE | re.DOTALL)
#: A file that a page shows under its name.
FILE = re.compile(r"^\*\*`([\w./]+)`\*\*\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
HEAD = "---\nfile_format: mystnb\nkernelspec:\n  name: python3\n  display_name: Python 3\n---\n\n"


def page(
    text: str,
    path: PurePosixPath,
    places: Mapping[PurePosixPath, str],
    known: Callable[[str], bool],
    *,
    runs: bool,
) -> str:
    """The page of a Markdown file at `path` of the repository.

    `places` maps files of the repository to their places in the site, `known` tells the names that the
    reference has, `runs` whether its Python is executed.
    """
    here = os.path.dirname(places[path])

    def link(found: re.Match[str]) -> str:
        mark, label, target = found.groups()
        if re.match(r"[a-z]+:|#", target):
            return found[0]
        name, _, anchor = target.partition("#")
        place = places.get(PurePosixPath(os.path.normpath(path.parent / name)))
        if place is None:
            return label
        return f"{mark}[{label}]({os.path.relpath(place, here or '.')}{'#' + anchor if anchor else ''})"

    def prose(part: str) -> str:
        return CODE.sub(lambda found: reference(found, known), LINK.sub(link, part))

    parts, end, cells = [], 0, 0
    for found in FENCE.finditer(text):
        parts.append(prose(text[end : found.start()]))
        end, (kind, body) = found.end(), found.groups()
        cells += runs and kind == "python"
        cell = {"python": f"```{{code-cell}}\n{body}```", "output": "", "text": ""} if runs else {}
        parts.append(cell.get(kind, found[0]))
    made = "".join([*parts, prose(text[end:])])
    return HEAD + made if cells else made


def reference(found: re.Match[str], known: Callable[[str], bool]) -> str:
    """`bf.x.y(…)` as a link to biasfree.x.y, if the reference has it."""
    name, call = found.groups()
    full = "biasfree" + name[2:]
    if not known(full) or re.search("[<>]", call or ""):
        return found[0]
    return f"{{py:obj}}`{name}{call or ''} <{full}>`"


def downloadable(text: str, *, folder: str = "") -> str:
    """The page as notebooks show it: nothing folded, no frames.

    With a `folder`, the files that the page shows become cells that write them into it.
    """

    def written(found: re.Match[str]) -> str:
        name, body = found.groups()
        place = f'Path("{folder}/{name}")'
        makes = f"{place}.parent.mkdir(parents=True, exist_ok=True)"
        code = f"from pathlib import Path\n\n{makes}\n{place}.write_text(r'''{body}''')"
        return f"**`{name}`**\n\n```python\n{code}\n```"

    text = FOLD.sub(r"**\1.**\n\2", text)
    text = re.sub(r"^<iframe .*?</iframe>\n", "", text, flags=re.MULTILINE)
    return FILE.sub(written, text) if folder else text


def notebook(text: str) -> str:
    """The page as a Jupyter notebook without outputs."""
    cells: list[Any] = []
    end = 0

    def add(new: Callable[..., Any], source: str) -> None:
        if source.strip():
            cells.append(new(source.strip(), id=f"cell-{len(cells)}"))

    for found in FENCE.finditer(text):
        if found[1] in ("python", "output", "text"):
            add(v4.new_markdown_cell, text[end : found.start()])
            end = found.end()
        if found[1] == "python":
            add(v4.new_code_cell, found[2])
    add(v4.new_markdown_cell, text[end:])
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return nbformat.writes(v4.new_notebook(cells=cells, metadata={"kernelspec": kernel}))
