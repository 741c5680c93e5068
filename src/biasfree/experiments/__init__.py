"""The papers' figures: what each one runs, claims and shows."""

from biasfree.experiments import fig3
from biasfree.experiments.experiment import Claim, Experiment, Setting

#: Every figure, by name, in the order in which `biasfree run --all` makes them.
REGISTRY: dict[str, Experiment] = {experiment.name: experiment for experiment in (fig3.EXPERIMENT,)}

__all__ = ["REGISTRY", "Claim", "Experiment", "Setting", "named"]


def named(name: str) -> Experiment:
    """The experiment called `name`."""
    if name not in REGISTRY:
        raise ValueError(f"no experiment {name!r}; there are: {', '.join(REGISTRY)}.")
    return REGISTRY[name]
