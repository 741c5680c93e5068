"""The tables of steps and sets, from stored numbers."""

from __future__ import annotations

import numpy as np

from biasfree.tables import Table
from biasfree_papers.nacson2023 import sentences_readings as read
from biasfree_papers.types import Numbers


def tables(numbers: Numbers) -> list[Table]:
    """What is known of every set and what came of it, and every step of every set."""
    return [_sets(numbers), _steps(numbers)]


def _sets(numbers: Numbers) -> Table:
    columns = (
        "set", "η_c, above it no minimum off all kinks is stable", "least norm", "min g", "initial scale",
        "minima", "off all kinks", "off them, but a kick grows",
        "largest stable step/η_c, median", "its range", "norm there/at the least step, median",
        "exponent", "unstable there if only rebalanced",
    )  # fmt: skip
    rows = tuple(_set_row(numbers, i) for i in range(len(numbers["sets"])))
    return Table(
        "sets: known before any run (generic: medians over its sets), and at the largest step that each "
        "start converges at",
        columns,
        rows,
    )


def _set_row(numbers: Numbers, i: int) -> tuple[object, ...]:
    first, last = (rungs[i] for rungs in read.smallest_and_largest(numbers))
    has = last >= 0
    largest = numbers["rungs"][last[has]]
    norms, sharp = numbers["norm"][i], numbers["balanced"][i]
    starts = np.flatnonzero(has)
    share = [norms[last[j], j] / norms[first[j], j] for j in starts]
    still = [sharp[first[j], j] * read.steps(numbers)[i, last[j], j] > 2 for j in starts]
    kinds = (read.converged, read.settled, read.growing)
    mean, error = read.finite_mean_and_error(read.exponents(numbers)[i])
    return (
        str(numbers["sets"][i]),
        *(float(np.median(numbers[name][i])) for name in ("ceiling", "least_norm", "least_gain", "scale")),
        *(int(kind(numbers)[i].sum()) for kind in kinds),
        float(np.median(largest)) if has.any() else None,
        f"{largest.min():.3g} to {largest.max():.3g}" if has.any() else "none",
        float(np.median(share)) if has.any() else None,
        f"{mean:.2f} ± {error:.2f}",
        f"{int(np.sum(still))} of {len(starts)}",
    )


def _steps(numbers: Numbers) -> Table:
    columns = (
        "set", "η/η_c", "η", "converged", "at rest elsewhere", "moving", "diverged", "on kinks",
        "sharpness·η/2, median", "largest off kinks", "largest on kinks", "largest along kinks",
        "norm/least, median", "2Σ|a|g/sharpness, median", "sharpness rebalanced/as it is, median",
    )  # fmt: skip
    pairs = np.ndindex(numbers["outcome"].shape[:2])
    return Table(
        "steps: what became of the starts", columns, tuple(_step_row(numbers, i, j) for i, j in pairs)
    )


def _step_row(numbers: Numbers, i: int, j: int) -> tuple[object, ...]:
    there, on = read.converged(numbers)[i, j], read.on_kinks(numbers)[i, j]
    ratio, tangent = read.ratio(numbers)[i, j], read.ratio(numbers, "tangent")[i, j]
    middles = (
        ratio,
        numbers["norm"][i, j] / numbers["least_norm"][i],
        2 * numbers["gain"][i, j] / numbers["sharpness"][i, j],
        numbers["balanced"][i, j] / numbers["sharpness"][i, j],
    )
    first, *others = (float(np.median(v[there])) if there.any() else None for v in middles)
    return (
        str(numbers["sets"][i]),
        float(numbers["rungs"][j]),
        float(read.steps(numbers)[i, j, 0]),
        *(int(n) for n in np.bincount(numbers["outcome"][i, j], minlength=4)),
        int(on.sum()),
        first,
        _largest(ratio, read.settled(numbers)[i, j]),
        _largest(ratio, on),
        _largest(tangent, on),
        *others,
    )


def _largest(values: np.ndarray, where: np.ndarray) -> float | None:
    return float(values[where].max()) if where.any() else None
