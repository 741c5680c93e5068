"""Gradient flow, τẆ = −∇(loss + (λ/2)Σ|W_l|²) with τ = 1, by the method that fits the network and the data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, overload

import numpy as np

from biasfree.arrays import increasing_times, positive, whole
from biasfree.data import Dataset
from biasfree.dynamics.adaptive import Smooth
from biasfree.dynamics.integrate import Limits, integrate
from biasfree.dynamics.objective import form_of, params_of, physics_of, view_of
from biasfree.dynamics.problem import Problem, float64, problem_of
from biasfree.dynamics.progress import Progress
from biasfree.dynamics.recorder import Recorder
from biasfree.networks import Network
from biasfree.trajectory import Stats, Trajectory

METHODS = ("auto", "smooth", "events", "steps")
#: What rtol=None means.
DEFAULT_RTOL = {"smooth": 1e-8, "events": 1e-8, "steps": 1e-4}


@overload
def gradient_flow(network: Network, data: Dataset, ts: Any, **options: Any) -> Trajectory: ...
@overload
def gradient_flow(
    network: Sequence[Network], data: Dataset | Sequence[Dataset], ts: Any, **options: Any
) -> list[Trajectory]: ...
def gradient_flow(
    network: Network | Sequence[Network],
    data: Dataset | Sequence[Dataset],
    ts: Any,
    *,
    loss: str = "square",
    l2: float = 0.0,
    rtol: float | None = None,
    atol: float | None = None,
    method: str = "auto",
    max_steps: int | None = None,
    train: Sequence[bool] | None = None,
    until: float | None = None,
    save: Callable[[Network], Any] | None = None,
) -> Any:
    """Gradient flow from `network`, the state at t = 0, saved at the times `ts`."""
    problem = problem_of(network, data, loss=loss, l2=l2, train=train)
    times = increasing_times(ts)
    form = form_of(problem.networks, problem.datasets, loss, problem.train)
    out = []
    with float64():
        for net, one in zip(problem.networks, problem.datasets):
            view, physics = view_of(form, net, one), physics_of(net, problem.l2)
            rec = Recorder(form, net, view, physics, save)
            r = rtol or 1e-8
            limits = Limits(r, atol or r, -np.inf if until is None else until, max_steps or 100_000)
            with Progress("") as pr:
                loop, why = integrate(Smooth(form), (view, physics), params_of(net), (), times, limits, rec)
            out.append(rec.trajectory(Stats(method="smooth", evaluations=int(loop.evaluations), accepted=int(loop.accepted), rejected=int(loop.rejected), rtol=r, error=float(loop.local_errors), error_kind="sum of local errors", stopped=why, wall_time=pr.elapsed)))
    return problem.answer(out)
