"""The examinations of `biasfree doctor`: each returns a sentence and a verdict."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from enum import StrEnum
from pathlib import Path

import numpy as np

import biasfree as bf
from biasfree.arrays import Float


class Verdict(StrEnum):
    """How a part of the installation is: fine, slower than it could be, or wrong."""

    OK = "ok"
    SLOW = "slow"
    WRONG = "WRONG"


Found = tuple[str, Verdict]
#: Samples of the comparison with NumPy: one sample, an odd number, and one where jaxlib 0.10.2 is wrong.
_SAMPLES = (1, 17, 16_385)
#: Times and losses of a flow with crossings, slides and a collapse. `tests/test_doctor.py` checks them by a
#: method without events: kinks rounded over a width that goes to zero.
STORED = {2.0: 0.483882083979, 10.0: 0.435698696125, 40.0: 0.403350575278}


def stored_problem() -> tuple[bf.Network, bf.Dataset]:
    """The network and the data of the stored flow."""
    return bf.networks.gaussian((2, 8, 1), scale=0.5, seed=0), bf.data.six_points(0.5)


def _release() -> Found:
    from biasfree.dynamics import KNOWN_WRONG, has_jax, refuse_wrong_release

    if not has_jax():
        return (
            "JAX is not installed; pip install 'biasfree[jax]' adds optimizers and accelerators",
            Verdict.OK,
        )
    refuse_wrong_release()
    named = ", ".join(KNOWN_WRONG)
    return f"jaxlib is none of the releases known to compute wrong numbers ({named})", Verdict.OK


def _devices() -> Found:
    from biasfree.dynamics import devices

    processors = f"flows and descents run on {os.cpu_count()} processors"
    if not (known := devices()):
        return processors, Verdict.OK
    return f"{', '.join(known)}; {processors}, large descents on device 0", Verdict.OK


def _cache() -> Found:
    from biasfree.dynamics import has_jax

    if not has_jax():
        return "no programs of JAX to keep", Verdict.OK
    advice = "set JAX_COMPILATION_CACHE_DIR to a folder that you can write"
    chosen = os.environ.get("JAX_COMPILATION_CACHE_DIR")  # set by the command, where it finds a folder
    if chosen is None:
        return (
            f"every process compiles JAX's programs anew, because no folder keeps them; {advice}",
            Verdict.SLOW,
        )
    probe = Path(chosen) / f"doctor-{os.getpid()}"
    try:
        probe.touch()
        probe.unlink()
    except OSError as error:
        return f"JAX's programs cannot be kept in {chosen} ({error.strerror}); {advice}", Verdict.SLOW
    size = sum(file.stat().st_size for file in Path(chosen).rglob("*") if file.is_file())
    return f"JAX's programs are kept in {chosen} ({size / 1e6:.1f} MB)", Verdict.OK


def _native() -> Found:
    from biasfree.dynamics import flow_cache

    folder = flow_cache()
    if folder is None:
        return (
            "every process compiles flows anew, for half a minute, because no folder keeps them; "
            "set NUMBA_CACHE_DIR to a folder that you can write",
            Verdict.SLOW,
        )
    return f"compiled flows are kept in {folder}", Verdict.OK


def _descent() -> Found:
    """One step of descent against a gradient written in NumPy, for every loss."""
    errors = [
        _step_error(samples, loss, sizes)
        for samples in _SAMPLES
        for loss in _SLOPES
        for sizes in ((3, 4, 1), (3, 4, 4, 1))
    ]
    return _within(max(errors), 1e-10, "a step of descent differs from NumPy's by")


def _flow() -> Found:
    network, data = stored_problem()
    run = bf.gradient_flow(network, data, [0.0, *STORED], rtol=1e-9)
    # the flow errs by a few times rtol; 1e-7 leaves room for another order of rounding
    error = np.abs(run.loss[1:] - list(STORED.values())).max()
    return _within(float(error), 1e-7, "losses of an exact flow through kinks differ from stored ones by")


def _within(error: float, bound: float, what: str) -> Found:
    right = error <= bound  # false for NaN
    remedy = "" if right else "; report it with the lines above, and install other versions of jax and numba"
    return f"{what} {error:.1e} (allowed: {bound:.0e}){remedy}", Verdict.OK if right else Verdict.WRONG


def _step_error(samples: int, loss: str, sizes: tuple[int, ...]) -> float:
    """The largest relative difference between a step of descent and the step that NumPy takes."""
    rng = np.random.default_rng(samples)
    x = rng.normal(size=(samples, 3))
    y = rng.choice([-1.0, 1.0], size=samples)
    network = bf.networks.gaussian(sizes, scale=2.0, leak=0.2, seed=1)
    run = bf.gradient_descent(network, bf.Dataset(x, y), step=0.5, steps=1, loss=loss)
    slopes = list(_gradient(network, x, y, _SLOPES[loss]))
    moved = [(before - after[-1]) / 0.5 for before, after in zip(network.weights, run.weights, strict=True)]
    return max(
        float(np.abs(one - two).max() / np.abs(two).max()) for one, two in zip(moved, slopes, strict=True)
    )


_SLOPES: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "square": lambda f, y: f - y,
    "logistic": lambda f, y: -y / (1 + np.exp(y * f)),
    "huber": lambda f, y: (f - y) / np.sqrt(1 + (f - y) ** 2),
}


def _gradient(
    network: bf.Network,
    x: Float[np.ndarray, "P D"],
    y: Float[np.ndarray, "P"],
    slope: Callable[[np.ndarray, np.ndarray], np.ndarray],
) -> Iterator[Float[np.ndarray, "_ _"]]:
    """∂L/∂W_l for l = 1 … L, by backpropagation."""
    inputs = [x]
    gates = []
    h = x
    for w in network.weights[:-1]:
        z = h @ w.T
        gates.append(np.where(z > 0, 1.0, network.leak))
        h = gates[-1] * z
        inputs.append(h)
    back = slope(h @ network.weights[-1].T, y[:, None]) / len(x)
    found = []
    for level in reversed(range(network.depth)):
        found.append(back.T @ inputs[level])
        if level:
            back = (back @ network.weights[level]) * gates[level - 1]
    yield from reversed(found)


#: Title → examination, in the order of the report.
EXAMINATIONS: dict[str, Callable[[], Found]] = {
    "release": _release,
    "devices": _devices,
    "cache": _cache,
    "native": _native,
    "descent": _descent,
    "flow": _flow,
}
