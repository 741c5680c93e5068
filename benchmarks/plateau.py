"""The second plateau of three layers: what has learned has fast rates, and the other half waits.

A linear network with two targets of equal strength, since peers do not end before kinks. Peers are implicit:
SciPy's Radau and BDF with Jacobians by finite differences, diffrax's Kvaerno5 with those that JAX derives,
all of them dense. Run as a program it prints seconds and path error of Kvaerno5.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

import biasfree as bf
from benchmarks.measure import best, in_fresh_process, path_error, timed
from benchmarks.problems import Problem
from benchmarks.rows import Goal, Row
from biasfree.threads import one_thread

NAMES = {peer: f"second plateau, three linear layers: {peer}" for peer in ("Radau", "BDF", "Kvaerno5")}
GOALS = {NAMES[peer]: Goal("≥", 10) for peer in ("Radau", "BDF")}
SAMPLES, INPUTS, WIDTH, TARGETS, SCALE = 80, 5, 20, 2, 1e-4
#: The loss, which begins at 1/2 and waits at 1/4: just after it has fallen to 3/8, and at the end.
BEGIN, END = 0.375 * 0.999, 0.125
#: Tolerances: of the reference and of the end; ours, of which the first within the bound is timed; and of
#: each peer the loosest power of ten within the bound.
REFERENCE, PRECISE = 1e-13, 1e-11
TOLERANCES = (1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9)
RTOL = {"Radau": 1e-5, "BDF": 1e-9, "Kvaerno5": 1e-4}
#: On the path error: errors of the plateau grow with what escapes from it, until the loss falls.
BOUND = 2e-2
#: The absolute tolerance of peers over the relative one; weights that have learned are of order one.
SMALL = 1e-3


def rows() -> Iterator[Row]:
    """A row per peer, all beside the same measurement of ours."""
    one = problem()
    seconds, rtol, error = flow(one)
    for peer, name in NAMES.items():
        if peer == "Kvaerno5" and not find_spec("diffrax"):
            yield Row(name, peer, seconds, error=error, note="diffrax is not installed: pip install diffrax")
            continue
        theirs, gap = in_fresh_process("plateau") if peer == "Kvaerno5" else by_scipy(peer)
        note = (
            f"loss 3/8 to 1/8, from scale {SCALE:g}; rtol {rtol:g} and {RTOL[peer]:g}, the loosest "
            f"powers of ten with path errors ≤ {BOUND:g}; {peer} has one thread of BLAS and a dense Jacobian "
            "by its own means"
        )
        yield Row(
            name,
            peer,
            seconds,
            theirs,
            goal=GOALS.get(name),
            error=error,
            peer_error=gap,
            bound=BOUND,
            note=note,
        )


def flow(one: Problem) -> tuple[float, float, float]:
    """Seconds, tolerance and path error of the flow at the loosest tolerance within the bound."""
    for rtol in TOLERANCES:
        seconds, run = best(lambda: bf.gradient_flow(one.network, one.data, one.ts, rtol=rtol))  # noqa: B023
        error = path_error(run.weights, one.reference)
        if error <= BOUND:
            break
    return seconds, rtol, error


@functools.cache
def problem() -> Problem:
    """Mirrored white inputs; two linear targets of equal strength, which are learned one after the other."""
    rng = np.random.default_rng(0)
    half = rng.normal(size=(SAMPLES // 2, INPUTS))
    maps = np.linalg.qr(rng.normal(size=(INPUTS, TARGETS)))[0] / np.sqrt(TARGETS)
    x = bf.data.whiten(bf.Dataset(np.vstack([half, -half]), np.zeros(SAMPLES))).x
    data = bf.Dataset(x, x @ maps)
    weights = bf.networks.gaussian((INPUTS, WIDTH, WIDTH, TARGETS), scale=SCALE, seed=0).weights
    network = bf.gradient_flow(bf.Network(weights, leak=1.0), data, [0, 1e30], until=BEGIN)[-1]
    end = bf.gradient_flow(network, data, [0, 1e30], until=END, rtol=PRECISE).ts[-1]
    return Problem("second plateau", network, data, np.nan, np.linspace(0, end, 9), REFERENCE)


def layers(theta: Any, network: bf.Network) -> list[Any]:
    """The weights in a vector, or in each of several."""
    cuts = np.cumsum([0, *(w.size for w in network.weights)])
    return [
        theta[..., begin:end].reshape(*theta.shape[:-1], *w.shape)
        for w, begin, end in zip(network.weights, cuts[:-1], cuts[1:], strict=True)
    ]


def velocity(theta: Any, one: Problem, numbers: Any = np) -> Any:
    """−∇ of ⟨|y − f|²⟩/2 for f = W₃W₂W₁x, with NumPy or JAX."""
    first, second, third = layers(theta, one.network)
    x, y = one.data.x, one.data.targets
    hidden = x @ first.T
    above = hidden @ second.T
    residual = (y - above @ third.T) / len(x)
    back = residual @ third
    slopes = (back @ second).T @ x, back.T @ hidden, residual.T @ above
    return numbers.concatenate([slope.ravel() for slope in slopes])


def by_scipy(method: str) -> tuple[float, float]:
    """Seconds and path error of a method of SciPy."""
    one, rtol = problem(), RTOL[method]
    theta = np.concatenate([w.ravel() for w in one.network.weights])
    span = (0, one.ts[-1])

    def integrated() -> Any:
        return solve_ivp(
            lambda _, state: velocity(state, one), span, theta, method, one.ts, rtol=rtol, atol=SMALL * rtol
        )

    with one_thread():
        seconds, found = timed(integrated)
    return seconds, path_error(layers(found.y.T, one.network), one.reference)


def by_diffrax() -> tuple[float, float]:
    """Seconds of Kvaerno5, compiled before, and its path error."""
    import diffrax
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)  # a process of its own
    one, rtol = problem(), RTOL["Kvaerno5"]
    theta = jnp.concatenate([w.ravel() for w in one.network.weights])
    integrate = jax.jit(
        lambda state: diffrax.diffeqsolve(
            diffrax.ODETerm(lambda t, theta, args: velocity(theta, one, jnp)),  # noqa: ARG005
            diffrax.Kvaerno5(),
            t0=0.0,
            t1=one.ts[-1],
            dt0=None,
            y0=state,
            saveat=diffrax.SaveAt(ts=jnp.asarray(one.ts)),
            stepsize_controller=diffrax.PIDController(rtol=rtol, atol=SMALL * rtol),
        )
    )
    compiled = integrate.lower(theta).compile()
    with one_thread():
        seconds, found = timed(lambda: np.asarray(compiled(theta).ys))
    return seconds, path_error(layers(found, one.network), one.reference)


if __name__ == "__main__":
    print(json.dumps(by_diffrax()))
