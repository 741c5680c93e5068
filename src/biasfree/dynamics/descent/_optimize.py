"""Training with any optimizer of optax, on all samples or on mini-batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Required, TypedDict, Unpack, overload

from biasfree.arrays import whole
from biasfree.data import Dataset
from biasfree.dynamics._jax import require_jax
from biasfree.dynamics._levels import levels_of
from biasfree.dynamics._problem import problem_of
from biasfree.dynamics._progress import Progress
from biasfree.dynamics.descent._gradient_descent import schedule_of
from biasfree.dynamics.descent._minibatches import batches_of
from biasfree.dynamics.descent._run import Run
from biasfree.networks import Network
from biasfree.trajectory import Trajectory


class OptimizeOptions(TypedDict, total=False):
    """The keywords of `optimize`, written once for its overloads."""

    steps: Required[int]
    save_every: int | Sequence[int]
    batch_size: int | None
    pairs: bool
    seed: int
    loss: str
    l2: float
    train: Sequence[bool] | None
    until: float | Sequence[float] | None
    save: Callable[[Network], Any] | None


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
    batches = batches_of(problem.datasets, batch_size, pairs=pairs, seed=seed)
    check_optimizer(optimizer, problem.networks[0])
    given: Any = {"step": 1.0, "save": save, "until": levels, "name": "training"}
    runs = [Run(problem, i, **given) for i in range(len(problem.networks))]
    with Progress("training") as progress:
        take_all(runs, optimizer, batches, schedule, progress)
        return problem.answer([run.trajectory("optimize", progress.elapsed) for run in runs])
