"""Figures that take no time, for tests of all that surrounds figures."""

from dataclasses import replace
from typing import Any

import numpy as np
import xarray

from biasfree.tables import Table
from biasfree_papers import reproduction
from biasfree_papers.experiment import PAPER, Claim, silent
from biasfree_papers.figure import load_figure
from biasfree_papers.registry import REGISTRY


def stub(name="fig3", *, holds=True, run=None, **changes):
    """A figure whose two numbers are drawn as a line; `run` returns arrays by name."""

    def draw(numbers):
        from matplotlib.figure import Figure

        figure = Figure(figsize=(1, 1))
        figure.subplots().plot(numbers["x"])
        return figure

    def labeled(settings, report):
        arrays = {"x": np.ones(2)} if run is None else run(vars(settings), report)
        return xarray.Dataset({key: (f"{key}_axis", value) for key, value in arrays.items()})

    bound = (1.0 if holds else 0.01,)
    read: dict[str, Any] = {"note": "luck", "rebuilt": True}
    claims = [
        Claim("a claim of ours", "here", "ours", (0.1,), bound, "a bound", (0,), nature="identity"),
        Claim("a claim of theirs", "there", "paper", (1.0, 0.1), (0.5,), "the caption", (0, 1), **read),
    ]
    table = Table("the stub's table", ("what", "how much"), (("nothing", np.float64(np.nan)),))
    plain = replace(
        load_figure("biasfree_papers.fig3", PAPER), rebuilt="", deviations=(), modules=frozenset()
    )
    return replace(plain, name=name, run=labeled, statements=lambda _: [*claims, table], draw=draw, **changes)


def registry_of(figure, monkeypatch):
    """A registry of one stub, made in this process, since other processes do not know it."""

    def make_here(tasks, out, *, anew, **_):
        for experiment, settings in tasks:
            reproduction.make(experiment, settings, out, silent, anew=anew)
        return []

    monkeypatch.setattr(REGISTRY, "_found", {figure.name: figure})
    monkeypatch.setattr(reproduction, "make_all", make_here)
    return REGISTRY
