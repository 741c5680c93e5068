"""Training with any optimizer of optax, on all samples or on mini-batches, reproducible from a seed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import repeat
from typing import Any, Unpack, overload

import numpy as np

from biasfree.arrays import Int, generator, whole
from biasfree.data import Dataset, mirror_pairs
from biasfree.dynamics._jax import require_jax
from biasfree.dynamics._problem import problem_of
from biasfree.dynamics._recorder import Progress, levels_of
from biasfree.dynamics.descent._gradient_descent import TrainingOptions, schedule_of
from biasfree.dynamics.descent._run import Run
from biasfree.networks import Network
from biasfree.trajectory import Trajectory


class OptimizeOptions(TrainingOptions, total=False):
    """The keywords of `optimize`."""

    batch_size: int | None
    pairs: bool
    seed: int


@overload
def optimize(
    network: Network, data: Dataset, optimizer: Any, **options: Unpack[OptimizeOptions]
) -> Trajectory: ...
@overload
def optimize(
    network: Sequence[Network],
    data: Dataset | Sequence[Dataset],
    optimizer: Any,
    **options: Unpack[OptimizeOptions],
) -> list[Trajectory]: ...
def optimize(
    network: Network | Sequence[Network],
    data: Dataset | Sequence[Dataset],
    optimizer: Any,
    *,
    steps: int,
    save_every: int | Sequence[int] = 1,
    batch_size: int | None = None,
    pairs: bool = True,
    seed: int = 0,
    loss: str = "square",
    l2: float = 0.0,
    train: Sequence[bool] | None = None,
    until: float | Sequence[float] | None = None,
    save: Callable[[Network], Any] | None = None,
) -> Trajectory | list[Trajectory]:
    """Train with an optimizer of optax, such as `optax.adam(1e-3)` or `optax.sgd(0.1, momentum=0.9)`.

    `ts` counts steps. Each step sees all samples, or `batch_size` of them: every epoch is a new permutation
    of the samples, drawn from `seed`, and what does not fill a batch is left out of it. With `pairs` a batch
    consists of whole mirror pairs (x, y), (−x, −y), which the data must then have. Losses are those of all
    samples. `until` stops a run at the first saved state whose loss is that low. Networks of a list share
    the batches and are trained in one compiled program. The other arguments are those of `gradient_descent`.

    Raises:
        DivergenceError: if the loss of a saved state is not finite, with its step.
        ImportError: without JAX and optax, which `pip install 'biasfree[jax]'` installs.
    """
    require_jax("bf.optimize")
    from biasfree.dynamics.descent._training import check_optimizer, take_all

    problem = problem_of(network, data, loss=loss, l2=l2, train=train)
    schedule, levels = schedule_of(whole("steps", steps), save_every), levels_of(until)
    seed = whole("seed", seed, at_least=0)
    size = None if batch_size is None else whole("batch_size", batch_size)
    batches = partial(_batches, _units(problem.datasets, size, pairs=pairs), size, seed)
    check_optimizer(optimizer, problem.networks[0])
    given: Any = {"step": 1.0, "save": save, "until": levels, "name": "training"}
    runs = [Run(problem, i, **given) for i in range(len(problem.networks))]
    with Progress("training") as progress:
        take_all(runs, optimizer, batches, schedule, progress)
        return problem.answer([run.trajectory("optimize", progress.elapsed) for run in runs])


def _units(datasets: Sequence[Dataset], size: int | None, *, pairs: bool) -> Int[np.ndarray, "U n"]:
    """The samples that stay together in a batch, one or a mirror pair per row; or a ValueError that says what
    does not fit."""
    data = datasets[0]
    samples = np.arange(len(data))[:, None]
    if size is None:
        return samples
    if not pairs:
        if size > len(data):
            raise ValueError(f"batch_size is {size}, but the data have {len(data)} samples; use fewer.")
        return samples
    if size % 2:
        raise ValueError(
            f"a batch of mirror pairs has an even size, got batch_size={size}; or pass pairs=False."
        )
    found = [mirror_pairs(one) for one in dict.fromkeys(datasets)]
    units = [np.stack(one, axis=1) for one in found if one is not None]
    if len(units) < len(found):
        raise ValueError(
            "pairs=True needs data in which every sample (x, y) has its mirror image (−x, −y); use "
            "bf.data.symmetrize(data), or pass pairs=False."
        )
    if any(not np.array_equal(one, units[0]) for one in units):
        raise ValueError(
            "the datasets of a list pair their samples differently, so they cannot share batches; train them "
            "one by one, or pass pairs=False."
        )
    if size > units[0].size:
        raise ValueError(
            f"batch_size is {size}, but the data have {units[0].size} samples in mirror pairs; use fewer."
        )
    return units[0]


def _batches(units: Int[np.ndarray, "U n"], size: int | None, seed: int) -> Iterator[Int[np.ndarray, "b"]]:
    """The samples of one batch after the other, none for all; each epoch has a permutation of its own."""
    if size is None:
        yield from repeat(np.zeros(0, np.int64))
        return
    rng, each = generator(seed), size // units.shape[1]
    while True:
        order = rng.permutation(len(units))
        for first in range(0, len(order) - each + 1, each):
            yield units[order[first : first + each]].ravel()
