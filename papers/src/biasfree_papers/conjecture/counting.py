"""Which runs count: those followed to the end with a small error; and why the others do not."""

from __future__ import annotations

from collections import Counter

import numpy as np

from biasfree_papers.conjecture.halves import LEARNED
from biasfree_papers.shared.loss_levels import ACCURATE, accurate
from biasfree_papers.types import Numbers

#: The share of |W|² that may lie outside the structure where it is said to be there.
SHARE = 0.05
#: The largest γ/u of weights that count as small where the first half is measured.
SMALL = 0.005


def finished(numbers: Numbers) -> np.ndarray:
    """Which runs came all the way down, within the error that counts."""
    return (numbers["reached"] == len(numbers["levels"])) & accurate(numbers["error"], numbers["drift"])


def halves_finished(numbers: Numbers) -> np.ndarray:
    """Which runs from small weights came to where their first half has learned."""
    done = numbers["half_reached"] == len(LEARNED)
    return done & accurate(numbers["half_error"], numbers["half_drift"]) & (numbers["half_kept"] <= SMALL)


def why_not(done: np.ndarray, stopped: np.ndarray, error: np.ndarray, drift: np.ndarray) -> str:
    """A sentence on the runs that do not count, empty if all do: how many, and the simulator's reasons."""
    if done.all():
        return ""
    reasons = [str(reason).split(" at t =")[0] for reason in stopped]
    reasons = np.where(error > ACCURATE, f"an error above {ACCURATE:g}", reasons)
    reasons = np.where(drift > error, "a drift of conserved norms above the estimated error", reasons)
    listed = ", ".join(f"{reason}: {count}" for reason, count in Counter(reasons[~done]).most_common())
    return f"{int((~done).sum())} of {done.size} runs do not count ({listed})."
