"""The installed figures by name; a figure is imported on first use."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from importlib.metadata import entry_points

from biasfree_papers.experiment import Experiment
from biasfree_papers.figure import load_figure

#: The entry-point group of figures: a dict from sections of the report to module names.
GROUP = "biasfree.figures"


class Registry(MutableMapping[str, Experiment]):
    """Figures by name, in the order of the report. Names are known before any figure is imported."""

    def __init__(self) -> None:
        self._found: dict[str, tuple[str, str] | Experiment] | None = None

    @property
    def _figures(self) -> dict[str, tuple[str, str] | Experiment]:
        if self._found is None:
            named = [part for package in entry_points(group=GROUP) for part in package.load().items()]
            pairs = [(module, section) for section, modules in named for module in modules]
            self._found = {module.rpartition(".")[2]: (module, section) for module, section in pairs}
        return self._found

    def __getitem__(self, name: str) -> Experiment:
        figure = self._figures[name]
        if isinstance(figure, tuple):
            figure = self._figures[name] = load_figure(*figure)
        return figure

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
