"""Claims on the margin with one sample more."""

from __future__ import annotations

from typing import Any

import numpy as np

from biasfree.tables import Table
from biasfree_papers.experiment import Claim, of_runs
from biasfree_papers.types import Numbers

_PAPER = "Lyu et al. (2021)"
_SHORT = 0.95  # of the margin of a better network


def shares(numbers: Numbers) -> np.ndarray:
    """Margins over c/(2|w*|): (sizes, times, leaks, scales, seeds)."""
    return numbers["extra_margin"] / numbers["extra_largest"][:, None, None]


def tops(numbers: Numbers) -> np.ndarray:
    """The largest share of every size."""
    return shares(numbers).max(axis=(1, 2, 3, 4))


def attained(numbers: Numbers) -> np.ndarray:
    """How far the linear network's share is from 1, sizes and leaks."""
    return np.abs(numbers["extra_linear"] / numbers["extra_largest"] - 1).ravel()


def derived(numbers: Numbers) -> list[Claim]:
    """The bound by the share of the other sign."""
    return [
        Claim(
            sentence="with the extra sample and without, the margin is at most (α + (1−α)q)/(2|w*|), q "
            "the share of |θ|² in neurons with a < 0: while q is small, no training makes up for it "
            "(largest ratio to it over time)",
            source="derived here",
            kind="ours",
            identity=True,
            measured=tuple(numbers["extra_bound_ratio"].ravel()),
            bound=(1 + 1e-11,),
            origin="the mean of y f over the support with y = −1, w* = −Σλx: neurons with a > 0 give at "
            "most αa w·w*, those with a < 0 at most |a||w||w*|, as the two samples there are orthogonal; "
            "rounding",
            **of_runs(numbers),
        )
    ]


def said(numbers: Numbers) -> list[Claim]:
    """Suboptimal margins, of leaky networks by a long sample, of ReLU networks by one beyond the margin."""
    return [
        Claim(
            sentence=f"one sample more, of length {numbers['extra_sizes'][-1]:g}, leaves small leaky "
            "networks at a margin below that of the linear network of the same size, as scale → 0 before "
            f"t → ∞ (share of it at the last time, scale {numbers['extra_scales'][0]:g})",
            source=_PAPER,
            kind="paper",
            measured=tuple(shares(numbers)[-1, -1, :, 0].ravel()),
            bound=(_SHORT,),
            origin=f"the paper gives no number; we take {_SHORT:g}",
            **of_runs(numbers),
        ),
        Claim(
            sentence="one sample more, beyond the margin of the others, leaves small ReLU networks at a "
            f"margin below that of a network of {int(numbers['beyond_neurons'][0])} neurons found by "
            "linear programming (share of its margin, extrapolated to t → ∞; scale "
            f"{numbers['extra_scales'][0]:g})",
            source=_PAPER,
            kind="paper",
            measured=tuple(extrapolated(numbers)[0, 0].ravel()),
            bound=(_SHORT,),
            origin=f"the paper gives no number; we take {_SHORT:g}; twice the margin at the last time "
            "less that at its square root, exact for a + b/ln t",
            **of_runs(numbers),
        ),
    ]


def _larger(numbers: Numbers) -> list[Claim]:
    """Both from larger starts, of which the paper does not speak."""
    if len(numbers["extra_scales"]) < 2:
        return []
    common: dict[str, Any] = {"kind": "observed", "bound": (_SHORT,), **of_runs(numbers)}
    return [
        Claim(
            sentence="from larger starts, too, that sample leaves leaky networks below the linear margin "
            "(share of it at the last time)",
            source="measured here; the paper is about scale → 0 before t → ∞",
            measured=tuple(shares(numbers)[-1, -1, :, 1:].ravel()),
            origin=f"the {_SHORT:g} that we take for the least scale",
            note="the order of limits matters: larger starts make up for it by the last time, and with "
            "q/(1−q) ∝ (ln t)^{1/α−1} every start does in the end",
            **common,
        ),
        Claim(
            sentence="from larger starts, too, the sample beyond the margin leaves ReLU networks below the "
            "better one (share of its margin, extrapolated to t → ∞)",
            source="measured here; the paper is about scale → 0",
            measured=tuple(extrapolated(numbers)[0, 1:].ravel()),
            origin=f"the {_SHORT:g} that we take for the least scale",
            note="some larger starts have neurons left in other directions, and find the better network",
            **common,
        ),
    ]


def extrapolated(numbers: Numbers) -> np.ndarray:
    """Margins beyond the margin over the better network's, at t → ∞ if they go as a + b/ln t."""
    margin = numbers["beyond_margin"] / numbers["beyond_better"][:, None, None]
    ts = numbers["beyond_ts"]
    wanted = np.log(ts[-1]) / 2
    after = int(np.searchsorted(np.log(ts[1:]), wanted)) + 1
    ends = np.log(ts[after - 1 : after + 1])
    part = (1 / wanted - 1 / ends[0]) / (1 / ends[1] - 1 / ends[0])  # linear in 1/ln t
    middle = (1 - part) * margin[after - 1] + part * margin[after]
    return 2 * margin[-1] - middle


def seen(numbers: Numbers) -> list[Claim]:
    """What larger starts do, and the law by which the other sign catches up."""
    leaks, exponents = numbers["extra_leaks"], numbers["extra_exponent"][-1, :, 0]
    error = exponents.std(axis=1, ddof=1) / np.sqrt(exponents.shape[1]) if exponents.shape[1] > 1 else 0.0
    spread = ", ".join(
        f"α = {a:g}: {m:.3f} ± {e:.1g}"
        for a, m, e in zip(leaks, exponents.mean(axis=1), np.broadcast_to(error, leaks.shape), strict=True)
    )
    return [
        *_larger(numbers),
        Claim(
            sentence="neurons of the other sign catch up as a power of those of the leading one, |v₋| ∝ "
            "|v₊|^{1/α}, with |v₊| ∝ ln t: for small leaks fast, near α = 1 hardly ever (exponent times "
            "α, distance from 1)",
            source="derived here to leading order",
            kind="observed",
            measured=tuple(np.abs(exponents * leaks[:, None] - 1).ravel()),
            bound=(0.05,),
            origin="while samples y = −1 have all of the residual, leading neurons see α times what the "
            "others see; we take a twentieth; least scale, longest sample, mean and standard error over "
            f"draws {spread}",
            **of_runs(numbers),
        ),
    ]


def tables(numbers: Numbers) -> list[Table]:
    """Shares of the linear network's margin at three times, by leak, scale and size."""
    ts, values = numbers["extra_ts"], shares(numbers)
    shown = [int(np.argmin(np.abs(np.log(ts) - np.log(ts[-1]) * part))) for part in (1 / 3, 2 / 3, 1)]
    columns = (
        "α",
        "scale",
        "extra sample",
        *(f"share at t = {ts[i]:.0e}" for i in shown),
        "share of a < 0",
        "decades of t until half",
    )
    rows = [
        _row(numbers, values, shown, i, j, k)
        for j in range(len(numbers["extra_leaks"]))
        for k in range(len(numbers["extra_scales"]))
        for i in range(len(numbers["extra_sizes"]))
    ]
    return [Table("Margin over that of the linear network, medians of the draws", columns, tuple(rows))]


def _row(
    numbers: Numbers, values: np.ndarray, shown: list[int], i: int, j: int, k: int
) -> tuple[object, ...]:
    leak, q = float(numbers["extra_leaks"][j]), float(np.median(numbers["extra_share"][i, -1, j, k]))
    decades = np.log10(numbers["extra_ts"][-1]) * ((1 - q) / q) ** (leak / (1 - leak))
    return (
        leak,
        float(numbers["extra_scales"][k]),
        float(numbers["extra_sizes"][i]),
        *(float(np.median(values[i, at, j, k])) for at in shown),
        q,
        float(decades) if q < 0.49 else "–",
    )
