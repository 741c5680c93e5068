"""A figure from its folder: NAME.md, compute.py, claims.py and picture.py."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from biasfree.tables import Table
from biasfree_papers.experiment import Claim, Experiment
from biasfree_papers.texts import read_text

if TYPE_CHECKING:
    import xarray

#: Claims of one figure that may be headlines.
MOST_HEADLINES = 3


def load_figure(module: str, section: str) -> Experiment:
    """The figure in the folder of a module.

    `compute.py` has `Settings`, `SMALL` (settings that take seconds), `SECONDS` (of a run) and `run`;
    `claims.py` has `claims`; `picture.py` has `draw`.
    """
    name = module.rpartition(".")[2]
    folder = Path(str(import_module(module).__file__)).parent
    text = read_text(folder / f"{name}.md")
    compute, claims, picture = (
        import_module(f"{module}.{part}") for part in ("compute", "claims", "picture")
    )
    return Experiment(
        name=name,
        title=text.title,
        caption=text.caption,
        rebuilt=text.rebuilt,
        deviations=text.deviations,
        section=section,
        settings=compute.Settings.described(),
        typed=compute.Settings,
        small=compute.SMALL,
        seconds=compute.SECONDS,
        run=compute.run,
        claims=partial(_claims, name, claims.claims),
        tables=partial(_tables, claims.claims),
        draw=picture.draw,
        modules=frozenset({compute.__name__, claims.__name__, picture.__name__}),
    )


def _claims(name: str, claims: Any, numbers: xarray.Dataset) -> list[Claim]:
    """The claims, those that are ours first, each with its seeds."""
    seeds = tuple(int(seed) for seed in numbers.seed) if "seed" in numbers.coords else ()
    found = [one for one in claims(numbers) if isinstance(one, Claim)]
    if sum(claim.headline for claim in found) > MOST_HEADLINES:
        raise ValueError(f"{name} has more than {MOST_HEADLINES} headlines; let the others be details.")
    return [claim if claim.seeds else replace(claim, seeds=seeds) for claim in found]


def _tables(claims: Any, numbers: xarray.Dataset) -> list[Table]:
    return [one for one in claims(numbers) if isinstance(one, Table)]
