"""The papers' figures: what each one runs, claims and shows."""

from biasfree.experiments import (
    appC4,
    appC5,
    appC6,
    augment,
    bias,
    conjecture,
    early,
    fig1,
    fig3,
    fig4,
    fig5,
    fig6,
    fig8,
    limit,
    realdata,
    relax,
)
from biasfree.experiments.experiment import Claim, Experiment
from biasfree.experiments.settings import Setting

_FIGURES = (fig1, fig3, fig4, fig5, fig6, fig8)
_APPENDICES = (appC4, appC5, appC6, bias)
_STATEMENTS = (early, limit, conjecture, augment)
_BEYOND = (relax, realdata)

#: Every figure, by name, in the order of the report: figures, appendices, statements, and beyond the paper.
REGISTRY: dict[str, Experiment] = {
    module.EXPERIMENT.name: module.EXPERIMENT for module in (*_FIGURES, *_APPENDICES, *_STATEMENTS, *_BEYOND)
}

__all__ = ["REGISTRY", "Claim", "Experiment", "Setting", "named"]


def named(name: str) -> Experiment:
    """The experiment called `name`."""
    if name not in REGISTRY:
        raise ValueError(f"no experiment {name!r}; there are: {', '.join(REGISTRY)}.")
    return REGISTRY[name]
