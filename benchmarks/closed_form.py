"""Closed-form learning curve at 1 000 times, maps and loss, against the simulation it replaces.

The goal is about the flow as it was when the goal was set: its time is a fixed share of PyTorch's, measured
in the same run, so that a faster flow does not move the goal. The flow of today has its own rows. The other
solutions of the theory are timed beside it, against SciPy on the equations of the linear twin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

import biasfree as bf
from benchmarks import descent_fig3, peers_torch
from benchmarks.measure import best, timed
from benchmarks.problems import fig3
from benchmarks.rows import Goal, Row

NAME = "closed form, 1 000 times, D 20: maps and loss"
GOALS = {NAME: Goal("≥", 1000)}
TIMES, INPUTS, WIDTH = 1000, 20, 500
#: PyTorch's 10 000 steps over the flow as it was: the same measurement (2026-11-15, two cores of an AMD EPYC)
#: found PyTorch 50 000 and that flow, at rtol 1e-8, 440 times slower than the closed form.
PYTORCH_OVER_EARLIER_FLOW = 50_000 / 440
#: The simulation's tolerance: what `rtol=None` means, and the loosest that a picture needs.
TOLERANCES = (1e-8, 1e-4)
#: Of SciPy's integration, as the reference of all solutions and as their peer.
REFERENCE, PEER = 1e-13, 1e-10


def rows() -> Iterator[Row]:
    """The closed form for white input against flow and PyTorch; all solutions against SciPy."""
    data, start, linear, ts = _setting()
    expected = integrated(start, data, ts, REFERENCE)
    seconds, maps = _solved(lambda: bf.theory.white_flow(start, data, ts))
    error = _distance(maps, expected)
    yield from _beside_torch(seconds, error)
    for rtol in TOLERANCES:
        theirs, run = _simulated(start, data, ts, rtol)
        yield Row(
            f"{NAME}, simulated",
            f"our gradient_flow, rtol {rtol:g}",
            seconds,
            theirs,
            error=error,
            peer_error=_distance(run.maps[:, 0], expected),
        )
    for solver, network in _solvers(start, linear):
        yield _beside_scipy(solver, network, data, ts)


def _setting() -> tuple[bf.Dataset, bf.Network, bf.Network, np.ndarray]:
    """White inputs, an aligned ReLU network and a balanced linear one, times through the transition."""
    data = bf.data.whiten(fig3().data)
    small = bf.networks.gaussian((INPUTS, WIDTH, 1), scale=1e-4, seed=1)
    linear = bf.networks.lambda_balanced((INPUTS, WIDTH, 1), scale=1e-4, balance=0.0, seed=1)
    ts = np.linspace(0, 40 / np.linalg.norm(data.beta), TIMES)
    return data, bf.theory.aligned(small, data), linear, ts


def _solvers(start: bf.Network, linear: bf.Network) -> Iterator[tuple[Callable[..., Any], bf.Network]]:
    for solver in (
        bf.theory.white_flow,
        bf.theory.sigmoid_flow,
        bf.theory.linear_flow,
        bf.theory.reduced_flow,
        bf.theory.equivalent_flow,
    ):
        yield solver, linear if solver is bf.theory.linear_flow else start


def _solved(solve: Callable[[], Any]) -> tuple[float, np.ndarray]:
    """Seconds to compute maps and loss, and the maps."""

    def read_off() -> tuple[np.ndarray, np.ndarray]:
        curve = solve()
        return curve.maps, curve.loss

    seconds, (maps, _) = best(read_off, 20)
    return seconds, maps[:, 0]


def _simulated(
    start: bf.Network, data: bf.Dataset, ts: np.ndarray, rtol: float
) -> tuple[float, bf.Trajectory]:
    bf.gradient_flow(start, data, ts[:2], rtol=rtol)  # loads the native programs
    return timed(lambda: bf.gradient_flow(start, data, ts, rtol=rtol))


def _beside_torch(seconds: float, error: float) -> Iterator[Row]:
    """Against the flow as it was, which has the goal, and against PyTorch."""
    problem = fig3()
    step, count = peers_torch.seconds_a_step(problem, descent_fig3.CHUNK)
    training = step * problem.steps
    yield Row(
        NAME,
        "the flow when the goal was set, rtol 1e-8",
        seconds,
        training / PYTORCH_OVER_EARLIER_FLOW,
        goal=GOALS[NAME],
        error=error,
        note=f"white_flow, leak 0, hypotheses measured before; the peer's time is PyTorch's over "
        f"{PYTORCH_OVER_EARLIER_FLOW:.0f}; errors: maps against SciPy at 1e-13, relative to the last one",
    )
    peer = f"PyTorch, {problem.steps:,} steps, threads: {count}"
    yield Row(f"{NAME}, trained", peer, seconds, training, error=error, note="scaled from a part")


def _beside_scipy(solver: Callable[..., Any], network: bf.Network, data: bf.Dataset, ts: np.ndarray) -> Row:
    seconds, maps = _solved(lambda: solver(network, data, ts))
    expected = integrated(network, data, ts, REFERENCE)
    theirs, found = timed(lambda: integrated(network, data, ts, PEER))
    return Row(
        f"{solver.__name__}, 1 000 times, D 20",
        f"SciPy DOP853, rtol {PEER:g}, linear twin",
        seconds,
        theirs,
        error=_distance(maps, expected),
        peer_error=_distance(found, expected),
    )


def integrated(network: bf.Network, data: bf.Dataset, ts: np.ndarray, rtol: float) -> np.ndarray:
    """c·W₂W₁ of the linear twin at ct, from its equations in an orthonormal basis of its neurons."""
    c = (1 + network.leak) / 2
    first, second = (np.sqrt(c) * w for w in network.weights)
    q = np.linalg.qr(np.hstack([first, second.T]))[0]
    shape = (q.shape[1], INPUTS + 1)

    def field(_, state):
        a, b = np.split(state.reshape(shape), [INPUTS], axis=1)
        pull = data.beta - (b.T @ a)[0] @ data.sigma
        return np.hstack([np.outer(b[:, 0], pull), (a @ pull)[:, None]]).ravel()

    start = np.hstack([q.T @ first, q.T @ second.T]).ravel()
    atol = 1e-3 * rtol * np.abs(start).max()
    found = solve_ivp(field, (0, c * ts[-1]), start, "DOP853", c * ts, rtol=rtol, atol=atol)
    states = found.y.T.reshape(-1, *shape)
    return np.einsum("tk,tkd->td", states[:, :, INPUTS], states[:, :, :INPUTS])


def _distance(maps: np.ndarray, expected: np.ndarray) -> float:
    return float(np.linalg.norm(maps - expected, axis=1).max() / np.linalg.norm(expected[-1]))
