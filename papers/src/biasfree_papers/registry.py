"""The installed figures by name; a figure is imported on first use."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from importlib import import_module
from importlib.metadata import entry_points

from biasfree_papers.experiment import NEIGHBORS, PAPER, Experiment
from biasfree_papers.figure import load_figure

#: The entry-point group of figures: a tuple of module names, each module with an `EXPERIMENT`.
GROUP = "biasfree.figures"


class Registry(MutableMapping[str, Experiment]):
    """Figures by name, in the order of the report. Names are known before any figure is imported."""

    def __init__(self) -> None:
        self._found: dict[str, str | Experiment] | None = None

    @property
    def _figures(self) -> dict[str, str | Experiment]:
        if self._found is None:
            modules = [module for package in entry_points(group=GROUP) for module in package.load()]
            self._found = {module.rpartition(".")[2]: module for module in modules}
        return self._found

    def __getitem__(self, name: str) -> Experiment:
        figure = self._figures[name]
        if isinstance(figure, str):
            figure = self._figures[name] = self._load(figure)
        return figure

    @staticmethod
    def _load(module: str) -> Experiment:
        made = getattr(import_module(module), "EXPERIMENT", None)
        return load_figure(module, NEIGHBORS if module[-4:].isdigit() else PAPER) if made is None else made

    def __setitem__(self, name: str, experiment: Experiment) -> None:
        self._figures[name] = experiment

    def __delitem__(self, name: str) -> None:
        del self._figures[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._figures)

    def __len__(self) -> int:
        return len(self._figures)

    def __contains__(self, name: object) -> bool:
        return name in self._figures


REGISTRY = Registry()


def named(name: str) -> Experiment:
    """The figure called `name`; an unknown name is refused."""
    if name not in REGISTRY:
        raise ValueError(f"no experiment {name!r}; there are: {', '.join(REGISTRY)}.")
    return REGISTRY[name]
