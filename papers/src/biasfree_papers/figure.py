"""A figure from its folder: NAME.md, compute.py, claims.py and picture.py."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from biasfree_papers.experiment import Experiment
from biasfree_papers.texts import read_text


def load_figure(module: str, section: str) -> Experiment:
    """The figure in the folder of a module.

    `compute.py` has `Settings`, `SMALL` (settings that take seconds), `SECONDS` (of a run) and `run`;
    `claims.py` has `claims`; `picture.py` has `draw`.
    """
    name = module.rpartition(".")[2]
    folder = Path(str(import_module(module).__file__)).parent
    text = read_text(folder / f"{name}.md")
    parts = [import_module(f"{module}.{part}") for part in ("compute", "claims", "picture")]
    compute, claims, picture = parts
    return Experiment(
        name=name,
        title=text.title,
        caption=text.caption,
        rebuilt=text.rebuilt,
        deviations=text.deviations,
        section=section,
        settings=compute.Settings,
        small=compute.SMALL,
        seconds=compute.SECONDS,
        run=compute.run,
        statements=claims.claims,
        draw=picture.draw,
        modules=frozenset(part.__name__ for part in parts),
    )
