"""Tables of Frei et al., from stored numbers: medians over seeds."""

from __future__ import annotations

from typing import Any

import numpy as np

from biasfree.tables import Table
from biasfree_papers.types import Numbers


def tables(numbers: Numbers) -> list[Table]:
    """Stable ranks by dimension and start; data and limit by dimension; orthogonal inputs by leak."""
    return [_ranks(numbers), _limits(numbers), _orthogonal(numbers)]


def _middle(values: np.ndarray) -> float:
    return float(np.median(values))


def _ranks(numbers: Numbers) -> Table:
    columns = (
        "inputs", "step", "start", "before", "one step", "low bound", "high bound", "end",
        "end, a > 0", "end, a < 0", "beyond rank two", "margin z", "z to outweigh W₀", "spread",
        "angle", "linear", "held out", "correct",
    )  # fmt: skip
    rows = [
        _run(numbers, "", (k, slice(None), i), d, numbers["step"], factor)
        for k, d in enumerate(numbers["dimensions"])
        for i, factor in enumerate(numbers["factors"])
    ]
    factors = (*numbers["factors"], numbers["tiny"])
    last, eta = numbers["dimensions"][-1], numbers["large_step"]
    large = [_run(numbers, "large_", (slice(None), i), last, eta, f) for i, f in enumerate(factors)]
    title = (
        "mixtures: stable ranks of W₁, and at which mean margin z training would weigh as much as the "
        "start; angles in degrees to the linear classifier of largest margin; shares of points whose class "
        "the linear part tells, and of held-out samples that are right"
    )
    return Table(title, columns, (*rows, *large), brief=tuple(large))


def _run(numbers: Numbers, kind: str, at: tuple, d: Any, step: Any, factor: Any) -> tuple[object, ...]:
    """A row; `at` chooses dimension and start."""
    ranks = numbers[f"{kind}ranks"][at]
    values = [
        ranks[:, 0, 0], ranks[:, 1, 0], numbers[f"{kind}first_low"][at], numbers[f"{kind}first_high"][at],
        *ranks[:, -1].T, numbers[f"{kind}beyond"][at][:, -1], numbers[f"{kind}margin"][at][:, -1],
        _outweighing(numbers, kind, at, d, factor), numbers[f"{kind}spread"][at][:, -1],
        *(numbers[f"{kind}{name}"][at] for name in ("angle", "agree", "agree_held_out", "accuracy")),
    ]  # fmt: skip
    return int(d), float(step), float(factor), *(_middle(value) for value in values)


def _outweighing(numbers: Numbers, kind: str, at: tuple, d: Any, factor: Any) -> np.ndarray:
    """z with z²Σλ_i = |W₀|_F², of which 2HD·factor²/(D + H) is the mean; time grows as e^z."""
    m = float(numbers["width"])
    size = numbers[f"{kind}limit_size"][at[:-1]]
    return np.sqrt(2 * m * d / (d + m) * factor**2 / size)


def _limits(numbers: Numbers) -> Table:
    columns = (
        "inputs", "n·max|x·x'|/min|x|²", "stable rank", "angle (degrees)", "on the margin",
        "draws with all on the margin", "gates off their side", "draws with all gates on it",
    )  # fmt: skip
    rows = [
        (
            int(d),
            *(_middle(numbers[name][k]) for name in ("near_orthogonality",)),
            _middle(numbers["limit_ranks"][k, :, 0]),
            *(_middle(numbers[name][k]) for name in ("limit_angle", "limit_on_margin")),
            f"{int((numbers['limit_on_margin'][k] == 1).sum())} of {len(numbers['seeds'])}",
            _middle(numbers["limit_off_side"][k]),
            f"{int(numbers['limit_consistent'][k].sum())} of {len(numbers['seeds'])}",
        )
        for k, d in enumerate(numbers["dimensions"])
    ]
    return Table(
        "mixtures: the max-margin network whose neurons are on their side of all samples",
        columns,
        tuple(rows),
    )


def _orthogonal(numbers: Numbers) -> Table:
    columns = (
        "step",
        "leak",
        "gradient",
        "one step",
        "end",
        "end, a > 0",
        "limit",
        "beyond rank two",
        "spread of margins",
    )
    rows = [
        (
            float(step),
            float(leak),
            *(
                _middle(values)
                for values in (
                    numbers["orthogonal_first_gradient"][:, i, 0],
                    numbers["orthogonal_ranks"][:, i, 1, 0],
                    *numbers["orthogonal_ranks"][:, i, -1, :2].T,
                    numbers["orthogonal_limit"][:, i],
                    numbers["orthogonal_beyond"][:, i, -1],
                    numbers["orthogonal_spread"][:, i, -1],
                )
            ),
        )
        for i, (step, leak) in enumerate(numbers["cases"])
    ]
    return Table("orthogonal inputs: stable ranks of W₁", columns, tuple(rows))
