"""The closed form for white input at 1 000 times: against the simulation it replaces, and SciPy."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.integrate import solve_ivp

import biasfree as bf
from benchmarks import descent, peers
from benchmarks.measure import best, timed
from benchmarks.problems import fig3
from benchmarks.rows import Goal, Row

NAME = "closed form, 1 000 times, D 20: maps and loss"
GOALS = {NAME: Goal("≥", 1000)}
#: PyTorch's 10 000 steps over the flow as it was when the goal was set: a faster flow does not move it.
PYTORCH_OVER_EARLIER_FLOW = 50_000 / 440
#: Tolerances of SciPy's integration, as the reference and as a peer.
REFERENCE, PEER = 1e-13, 1e-10


def rows() -> Iterator[Row]:
    """White input, an aligned ReLU network: against the earlier flow, and SciPy on the linear twin."""
    data = bf.data.whiten(fig3().data)
    network = bf.theory.aligned(bf.networks.gaussian((20, 500, 1), scale=1e-4, seed=1), data)
    ts = np.linspace(0, 40 / np.linalg.norm(data.beta), 1000)

    def solved() -> tuple[np.ndarray, np.ndarray]:
        curve = bf.theory.white_flow(network, data, ts)
        return curve.maps, curve.loss

    seconds, (maps, _) = best(solved, 20)
    expected = integrated(network, data, ts, REFERENCE)
    error = _distance(maps[:, 0], expected)
    step, _ = peers.seconds_a_step(fig3(), descent.FIG3_CHUNK)
    earlier = step * fig3().steps / PYTORCH_OVER_EARLIER_FLOW
    peer = "the flow when the goal was set, rtol 1e-8"
    note = f"hypotheses measured before; errors: maps against SciPy at {REFERENCE:g}"
    yield Row(NAME, peer, seconds, earlier, goal=GOALS[NAME], error=error, note=note)
    theirs, found = timed(lambda: integrated(network, data, ts, PEER))
    peer = f"SciPy DOP853, rtol {PEER:g}, linear twin"
    gap = _distance(found, expected)
    yield Row(f"{NAME}, integrated", peer, seconds, theirs, error=error, peer_error=gap)


def integrated(network: bf.Network, data: bf.Dataset, ts: np.ndarray, rtol: float) -> np.ndarray:
    """c·W₂W₁ of the linear twin at ct, from its equations in an orthonormal basis of its neurons."""
    c = (1 + network.leak) / 2
    first, second = (np.sqrt(c) * w for w in network.weights)
    q = np.linalg.qr(np.hstack([first, second.T]))[0]
    inputs = first.shape[1]
    shape = (q.shape[1], inputs + 1)

    def field(_, state):
        a, b = np.split(state.reshape(shape), [inputs], axis=1)
        force = data.beta - (b.T @ a)[0] @ data.sigma
        return np.hstack([np.outer(b[:, 0], force), (a @ force)[:, None]]).ravel()

    initial = np.hstack([q.T @ first, q.T @ second.T]).ravel()
    atol = 1e-3 * rtol * np.abs(initial).max()
    found = solve_ivp(field, (0, c * ts[-1]), initial, "DOP853", c * ts, rtol=rtol, atol=atol)
    states = found.y.T.reshape(-1, *shape)
    return np.einsum("tk,tkd->td", states[:, :, inputs], states[:, :, :inputs])


def _distance(maps: np.ndarray, expected: np.ndarray) -> float:
    return float(np.linalg.norm(maps - expected, axis=1).max() / np.linalg.norm(expected[-1]))
