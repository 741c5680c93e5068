"""Small runs of the figures: each is made once per test session, and every process of it reads the file."""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest
import xarray

from biasfree_papers.experiment import Experiment, silent
from biasfree_papers.registry import REGISTRY
from biasfree_papers.reproduction.storage import Origin, content, load_numbers, save_numbers


@pytest.fixture(scope="session")
def small_run(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], xarray.Dataset]:
    """The numbers of a figure at its small settings, read-only, by name."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:  # workers share the folder above theirs
        folder = folder.parent
    return cache(lambda name: _stored(REGISTRY[name], folder / "small" / name))


@pytest.fixture(scope="module")
def experiment(request: pytest.FixtureRequest) -> Experiment:
    """The figure that a file of tests is named after, or the one that a test names as its parameter."""
    return REGISTRY[getattr(request, "param", request.path.stem.removeprefix("test_"))]


@pytest.fixture(scope="module")
def numbers(experiment: Experiment, small_run: Callable[[str], xarray.Dataset]) -> xarray.Dataset:
    """The numbers of that figure's small run."""
    return small_run(experiment.name)


def _stored(experiment: Experiment, folder: Path) -> xarray.Dataset:
    folder.mkdir(parents=True, exist_ok=True)
    with _locked(folder):
        if not any(folder.iterdir()):
            made = experiment.compute(experiment.settle(experiment.small), silent)
            save_numbers(folder, made, Origin(experiment.name, {}, "", {}, 0.0, content(made)))
    numbers, _ = load_numbers(folder)  # refused unless each has the bits that it was written with
    for value in numbers.values():
        value.values.flags.writeable = False
    return numbers


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Waits until no other process has the folder."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
