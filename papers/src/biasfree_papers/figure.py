"""A figure from its folder: the text of NAME.md, compute.py, claims.py and picture.py."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from biasfree_papers.experiment import Experiment

_PARTS = ("Rebuilt", "Deviations")


@dataclass(frozen=True)
class Text:
    """What a reader is told of a figure."""

    title: str
    caption: str
    rebuilt: str = ""
    deviations: tuple[str, ...] = ()


def read_text(path: Path) -> Text:
    """The text in a Markdown file: `# title`, the caption, and, if there are any, `## Rebuilt` and
    `## Deviations`, a list.
    """
    head, *parts = path.read_text(encoding="utf-8").split("\n## ")
    title, _, caption = head.partition("\n")
    found = {name.strip(): body for name, _, body in (part.partition("\n") for part in parts)}
    if not title.startswith("# ") or not caption.strip():
        raise ValueError(f"{path} must begin with a line '# title' and have a caption below it.")
    if unknown := [name for name in found if name not in _PARTS]:
        raise ValueError(f"{path} has the parts {unknown}; a figure has {' and '.join(_PARTS)}.")
    items = found.get("Deviations", "").split("\n- ")
    return Text(
        title[2:].strip(),
        _joined(caption),
        _joined(found.get("Rebuilt", "")),
        tuple(_joined(item.removeprefix("- ")) for item in items if item.strip()),
    )


def _joined(lines: str) -> str:
    """A paragraph without line breaks."""
    return " ".join(lines.split())


def load_figure(module: str, section: str) -> Experiment:
    """The figure in the folder of a module.

    `compute.py` has `Settings`, `SMALL` (settings that take seconds), `SECONDS` (of a run) and `run`;
    `claims.py` has `claims`; `picture.py` has `draw`. Figures with the same claims and picture have them in
    the folder of the module that `SHARED` of `compute.py` names.
    """
    name = module.rpartition(".")[2]
    folder = Path(str(import_module(module).__file__)).parent
    text = read_text(folder / f"{name}.md")
    compute = import_module(f"{module}.compute")
    home = getattr(compute, "SHARED", module)
    claims, picture = (import_module(f"{home}.{part}") for part in ("claims", "picture"))
    return Experiment(
        name=name,
        **vars(text),
        section=section,
        settings=compute.Settings,
        small=compute.SMALL,
        seconds=compute.SECONDS,
        run=compute.run,
        statements=claims.claims,
        draw=picture.draw,
        modules=frozenset({compute.__name__, claims.__name__, picture.__name__}),
    )
