"""Figures that take no time, for tests of all that surrounds figures."""

from dataclasses import replace

import numpy as np

from biasfree.tables import Table
from biasfree_papers.experiment import Claim
from biasfree_papers.figure import load_figure


def stub(name="fig3", *, holds=True, run=None, **changes):
    """A figure whose two numbers are drawn as a line."""

    def draw(numbers):
        from matplotlib.figure import Figure

        figure = Figure(figsize=(1, 1))
        figure.subplots().plot(numbers["x"])
        return figure

    bound, read = (1.0 if holds else 0.01,), {"note": "luck", "rebuilt": True}
    claims = [
        Claim("a claim of ours", "here", "ours", (0.1,), bound, "a bound", (0,), identity=True),
        Claim("a claim of theirs", "there", "paper", (1.0, 0.1), (0.5,), "the caption", (0, 1), **read),
    ]
    table = Table("the stub's table", ("what", "how much"), (("nothing", np.float64(np.nan)),))
    plain = {"typed": None, "modules": frozenset(), "rebuilt": "", "deviations": ()}
    return replace(
        replace(load_figure("biasfree_papers.fig3"), **plain),
        name=name,
        run=run or (lambda *_: {"x": np.ones(2)}),
        claims=lambda _: claims,
        tables=lambda _: [table],
        draw=draw,
        **changes,
    )
