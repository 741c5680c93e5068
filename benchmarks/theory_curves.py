"""How long a solved learning curve takes: 1 000 times, D = 20, H = 500, and how accurate it is.

    python benchmarks/theory_curves.py

Accuracy is the largest distance of the maps, relative to the final map, from a reference that shares no code
with the solution: the network's own equations, integrated by SciPy's DOP853 at 1e-13 in the span of its
neurons. Speed is the best of several runs on one thread; the ratio is against that integration at 1e-10 in
the same process.
"""
# ruff: noqa: E402

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"  # before NumPy starts its threads

import time

import numpy as np
from scipy.integrate import solve_ivp

import biasfree as bf

D, H, TIMES = 20, 500, 1000


def best(call, repeats=20):
    """The shortest time of a call, in milliseconds."""
    took = []
    for _ in range(repeats):
        began = time.perf_counter()
        call()
        took.append(time.perf_counter() - began)
    return 1e3 * min(took)


def integrated(network, data, ts, rtol):
    """c·W₂W₁ of the linear twin at ct, from its equations in an orthonormal basis of its neurons."""
    c = (1 + network.leak) / 2
    first, second = (np.sqrt(c) * w for w in network.weights)
    q = np.linalg.qr(np.hstack([first, second.T]))[0]
    shape = (q.shape[1], D + 1)

    def field(_, state):
        a, b = np.split(state.reshape(shape), [D], axis=1)
        pull = data.beta - (b.T @ a)[0] @ data.sigma
        return np.hstack([np.outer(b[:, 0], pull), (a @ pull)[:, None]]).ravel()

    start = np.hstack([q.T @ first, q.T @ second.T]).ravel()
    found = solve_ivp(
        field, (0, c * ts[-1]), start, "DOP853", c * ts, rtol=rtol, atol=1e-3 * rtol * np.abs(start).max()
    )
    states = found.y.T.reshape(-1, *shape)
    return np.einsum("tk,tkd->td", states[:, :, D], states[:, :, :D])


def main():
    white = bf.data.whiten(bf.data.odd_sine(seed=0))
    small = bf.networks.gaussian((D, H, 1), scale=1e-4, seed=1)
    start = bf.theory.aligned(small, white)
    linear = bf.networks.lambda_balanced((D, H, 1), scale=1e-4, balance=0.0, seed=1)
    s = np.linalg.norm(white.beta)
    ts = np.linspace(0, 40 / s, TIMES)
    solvers = {
        "white_flow": (bf.theory.white_flow, start),
        "sigmoid_flow": (bf.theory.sigmoid_flow, start),
        "linear_flow": (bf.theory.linear_flow, linear),
        "reduced_flow": (bf.theory.reduced_flow, start),
        "equivalent_flow": (bf.theory.equivalent_flow, start),
    }
    print(f"{TIMES} times, D = {D}, H = {H}, one thread")
    heads = ("solve, maps, loss", "maps, loss alone", "error of maps", "DOP853 takes")
    print(" " * 16 + "".join(f"{head:>20}" for head in heads))
    for name, (solver, network) in solvers.items():
        row(name, lambda: solver(network, white, ts), lambda rtol: integrated(network, white, ts, rtol))  # noqa: B023


def row(name, solve, reference):
    solved, expected = solve(), reference(1e-13)
    whole, read = best(lambda: read_off(solve()), 5), best(lambda: read_off(solved))
    peer = best(lambda: reference(1e-10), 2)
    error = np.linalg.norm(solved.maps[:, 0] - expected, axis=1).max() / np.linalg.norm(expected[-1])
    print(f"{name:16}{whole:17.2f} ms{read:17.3f} ms{error:20.1e}{peer / whole:18.1f} x")


def read_off(curve):
    return curve.maps, curve.loss


if __name__ == "__main__":
    main()
