"""[ZSL25] App. C.6 of TMLR, rebuilt: the equivalence with a linear network at large steps."""

from __future__ import annotations

from typing import Any

from biasfree.arrays import positive
from biasfree_papers.appC6.numbers import meetings, run
from biasfree_papers.appC6.picture import draw
from biasfree_papers.appC6.sentences import claims, tables
from biasfree_papers.experiment import Experiment
from biasfree_papers.settings import Setting, several
from biasfree_papers.shared.linear_twins import small_task


def _leaks(name: str, value: Any) -> tuple[float, ...]:
    leaks = several(low=0, high=0.99)(name, value)
    if any(meetings(leak)[0] / meetings(leak)[1] != (1 + leak) / 2 for leak in leaks):
        raise ValueError(
            f"{name} must make (1+α)/2 a fraction of at most 16 parts, as 0, 0.25, 0.5 do, got {value!r}: at "
            "equal steps others have no common rescaled times."
        )
    return leaks


SETTINGS = {
    **small_task(6),
    "leaks": Setting((0.0, 0.5), "leaks below 1 that make (1+α)/2 a simple fraction", _leaks),
    "steps": Setting(
        (0.05, 0.1, 0.2, 0.4, 0.8, 0.95),
        "the linear network's steps, in units of the largest stable one, numbers between 0 and 1",
        several(low=1e-3, high=0.99),
    ),
    "scale": Setting(1e-3, "the initial norm of a linear layer, a positive number", positive),
    "end": Setting(20.0, "the last time of the linear network in units of τ/s, a positive number", positive),
}

EXPERIMENT = Experiment(
    name="appC6",
    title="The equivalence at large steps ([ZSL25] TMLR App. C.6)",
    caption="Gradient descent on white symmetric data, steps in units of the largest that is stable, τ/s. "
    "(a) Loss above least squares of ReLU (markers) at η/c and of its linear twin (lines) at η, from a "
    "rank-one start: the same, step by step. (b) Largest weight error along the path against the step, from "
    "the rank-one start, on a broken axis: at rounding where the others have step η/c, and growing with η "
    "where both have the same η; lines: medians. (c) The same from small Gaussian weights, whose "
    "own ± imbalance is a floor (grey: where 98 % of draws end). (d) Why: at equal η forward Euler lets "
    "leaky networks grow faster on the plateau; simulated (markers), and the difference of the "
    "rates ln(1 + cηs)/(cη) (lines).",
    settings=SETTINGS,
    small={"width": 12, "dimensions": 3, "samples": 10, "steps": (0.2, 0.8), "end": 12, "seeds": 2},
    run=run,
    claims=claims,
    tables=tables,
    draw=draw,
    seconds=13,
    rebuilt="All settings and the claims. Known of the appendix is that it shows the equivalence for large "
    "steps. Ours: the target of Fig. 3 on 50 draws in 5 dimensions and their negatives, whitened; width 50; "
    "initial norm 1e-3; steps from 0.05 to 0.95 of the largest stable one.",
    deviations=(
        "Leaks 0 and 0.5: at equal steps two networks meet at common rescaled times only if c is a simple "
        "fraction.",
    ),
)
