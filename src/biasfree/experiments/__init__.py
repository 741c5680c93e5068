"""The papers' figures: what each one runs, claims and shows."""

from biasfree.experiments import fig3
from biasfree.experiments.experiment import Claim, Experiment
from biasfree.experiments.settings import Setting

#: Every figure, by name, in the order of the report.
REGISTRY: dict[str, Experiment] = {experiment.name: experiment for experiment in (fig3.EXPERIMENT,)}

__all__ = ["REGISTRY", "Claim", "Experiment", "Setting", "named"]


def named(name: str) -> Experiment:
    """The experiment called `name`."""
    if name not in REGISTRY:
        raise ValueError(f"no experiment {name!r}; there are: {', '.join(REGISTRY)}.")
    return REGISTRY[name]
