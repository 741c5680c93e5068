"""The papers' figures: what each one runs, claims and shows; a neighbour is named by its paper."""

from biasfree.experiments import (
    appC4,
    appC5,
    appC6,
    augment,
    basri2019,
    bias,
    boursier2022,
    conjecture,
    early,
    fig1,
    fig3,
    fig4,
    fig5,
    fig6,
    fig8,
    frei2022,
    kou2023,
    lai2026,
    limit,
    lyu2021,
    nacson2023,
    realdata,
    relax,
    sarussi2021,
    town2026,
)
from biasfree.experiments.experiment import Claim, Experiment
from biasfree.experiments.settings import Setting

_FIGURES = (fig1, fig3, fig4, fig5, fig6, fig8)
_APPENDICES = (appC4, appC5, appC6, bias)
_STATEMENTS = (early, limit, conjecture, augment)
_BEYOND = (relax, realdata)
_NEIGHBOURS = (
    frei2022,
    kou2023,
    boursier2022,
    lyu2021,
    sarussi2021,
    town2026,
    lai2026,
    nacson2023,
    basri2019,
)

#: Every figure, by name, in the order of the report: the paper's figures, appendices and statements, what is
#: beyond it, and its neighbours.
REGISTRY: dict[str, Experiment] = {
    module.EXPERIMENT.name: module.EXPERIMENT
    for module in (*_FIGURES, *_APPENDICES, *_STATEMENTS, *_BEYOND, *_NEIGHBOURS)
}

__all__ = ["REGISTRY", "Claim", "Experiment", "Setting", "named"]


def named(name: str) -> Experiment:
    """The experiment called `name`."""
    if name not in REGISTRY:
        raise ValueError(f"no experiment {name!r}; there are: {', '.join(REGISTRY)}.")
    return REGISTRY[name]
