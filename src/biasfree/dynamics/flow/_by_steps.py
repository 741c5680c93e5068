"""Gradient flow by steps and half steps, with JAX: the problem in its form, and the statistics of the run."""

from __future__ import annotations

import time
from collections.abc import Callable

import jax
import numpy as np

from biasfree.dynamics._objective import Form, physics_of, samples_of
from biasfree.dynamics._params import Params, params_of
from biasfree.dynamics._problem import Problem
from biasfree.dynamics._programs import float64
from biasfree.dynamics._recorder import Recorder
from biasfree.dynamics.flow._flow import Limits
from biasfree.dynamics.flow._halving import StepFlow
from biasfree.dynamics.flow._initial import (
    branches_initially,
    first_layer_hyperplanes,
    initial_state,
    on_a_kink,
)
from biasfree.dynamics.flow.events._apply import Decisions
from biasfree.trajectory import Stats, Trajectory


def flow_by_steps(
    problem: Problem,
    i: int,
    ts: np.ndarray,
    limits: Limits,
    recorder_of: Callable[[], Recorder],
    *,
    strict: bool,
    began: float,
) -> Trajectory:
    """The flow of one network; `strict` raises where `limits` cannot be met, else a warning says so."""
    network, data = problem.networks[i], problem.datasets[i]
    form = Form(problem.loss, problem.train)
    with float64():
        params, branch_times = _start(problem, i)
        given = jax.device_put(samples_of(network, data)), physics_of(network, problem.l2)
        flow = StepFlow(form, params, *given, limits, strict=strict)
        recorder, outcome = flow.follow(ts, params_of(network), recorder_of)
    stats = Stats(
        method="steps",
        evaluations=outcome.evaluations,
        accepted=outcome.accepted,
        rejected=outcome.rejected,
        rtol=limits.rtol,
        error=outcome.error,
        error_kind="step halving, largest along the path",
        branch_times=branch_times,
        stopped=outcome.stopped,
        wall_time=time.perf_counter() - began,
    )
    return recorder.trajectory(stats)


def _start(problem: Problem, i: int) -> tuple[Params, tuple[float, ...]]:
    """The initial weights, and the time 0 if the flow is not unique there. A neuron of two layers that leaves
    a kink is moved a rounding beyond it."""
    network, data = problem.networks[i], problem.datasets[i]
    params = params_of(network)
    if network.depth != 2 or network.leak == 1 or not problem.train[0] or not on_a_kink(network, data):
        return params, (0.0,) if branches_initially(problem, i) else ()
    if network.biases is None and not data.x.any():
        return params, ()
    drifts = network.biases is not None and problem.l2 > 0
    decisions = Decisions(first_layer_hyperplanes(network, data), drifts=drifts)
    begun = initial_state(problem, i, decisions)
    first, second = begun.hidden, params.weights[1]
    if params.biases:  # the last column
        biases = first[:, -1], params.biases[1]
        return Params((first[:, :-1], second), biases), tuple(decisions.branch_times)
    return Params((first, second)), tuple(decisions.branch_times)
