"""Plain diffrax: Tsit5, a PID controller, one compiled call; kinks are ignored."""

from __future__ import annotations

from functools import partial

import diffrax
import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.measure import timed
from benchmarks.peers_numpy import typical_size
from benchmarks.peers_scipy import Solved
from benchmarks.problems import Problem

#: Steps of the trial that says what a step costs.
TRIAL_STEPS = 4096


def loss(weights, x, y, leak):
    """⟨|y − f|²⟩/2 for f = W₂σ(W₁x)."""
    hidden = jax.nn.leaky_relu(x @ weights[0].T, leak)
    return jnp.mean(jnp.sum((hidden @ weights[1].T - y) ** 2, axis=1)) / 2


def _slope(_, weights, args):
    return jax.tree.map(jnp.negative, jax.grad(loss)(weights, *args))


@partial(jax.jit, static_argnames="max_steps")
def _solve(weights, args, ts, rtol, atol, *, max_steps):
    return diffrax.diffeqsolve(
        diffrax.ODETerm(_slope),
        diffrax.Tsit5(),
        ts[0],
        ts[-1],
        None,
        weights,
        args,
        saveat=diffrax.SaveAt(ts=ts),
        stepsize_controller=diffrax.PIDController(rtol=rtol, atol=atol),
        max_steps=max_steps,
        throw=False,
    )


def solve(problem: Problem, *, rtol: float, limit: float) -> Solved:
    """The flow at the problem's times; as many steps as fit into `limit` seconds by the cost of a trial."""
    weights, data = problem.network.weights, problem.data
    args = (data.x, data.targets, problem.network.leak)
    given = (weights, args, problem.ts, rtol, rtol * typical_size(weights))

    def call(max_steps: int) -> tuple[float, diffrax.Solution]:
        program = _solve.lower(*given, max_steps=max_steps).compile()
        return timed(lambda: jax.block_until_ready(program(*given)))

    with jax.enable_x64(True):
        seconds, found = call(TRIAL_STEPS)
        if found.result != diffrax.RESULTS.successful:
            seconds, found = call(max(TRIAL_STEPS, int(limit / seconds * TRIAL_STEPS)))
        return _solved(found, seconds)


def _solved(found: diffrax.Solution, seconds: float) -> Solved:
    ts = np.asarray(found.ts)
    done = np.isfinite(ts)  # times not reached are infinite
    path = tuple(np.asarray(w)[done] for w in jax.tree.leaves(found.ys))
    steps, finished = int(found.stats["num_steps"]), bool(found.result == diffrax.RESULTS.successful)
    return Solved(path, seconds, float(ts[done][-1]), 6 * steps, finished)
