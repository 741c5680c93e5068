"""Claims on the sets outside the theorem: observed only."""

from __future__ import annotations

from typing import Any

import numpy as np

from biasfree.tables import Table
from biasfree_papers.experiment import Claim
from biasfree_papers.types import Numbers

_FITTED = 1e-6


def beyond(numbers: Numbers) -> list[Claim]:
    """Whether they fit, and what became of those that do not."""
    lost = numbers["teacher_lost"] - numbers["teacher_lost_at_start"]
    return [
        Claim(
            sentence="five points that are not orthogonal are fitted (last loss over the first)",
            measured=tuple(numbers["line_loss"][:, -1] / numbers["line_loss"][:, 0]),
            **_common(numbers, "line"),
        ),
        _longer(numbers),
        Claim(
            sentence="a ReLU teacher in more dimensions than samples is fitted (last loss over the first)",
            measured=tuple(numbers["teacher_loss"][:, -1] / numbers["teacher_loss"][:, 0]),
            **_common(numbers, "teacher"),
            note=f"{int(np.sum(lost > 0))} of {len(lost)} draws end with a sample on which no neuron of its "
            "sign is active, though one was at the start: inputs that are only nearly orthogonal can lose "
            "what orthogonal ones keep",
        ),
    ]


def _longer(numbers: Numbers) -> Claim:
    count, scale = len(numbers["line_norm"]), float(numbers["line_scale"])
    return Claim(
        sentence="five points that are not orthogonal end longer than the shortest network that fits them "
        f"(½|θ|² over bf.theory.neighbors.least_path_norm, {float(numbers['line_least']):.3f}, less 1)",
        source="derived here: bf.theory.neighbors.least_path_norm",
        kind="observed",
        measured=tuple(numbers["line_norm"] / numbers["line_least"] - 1),
        bound=(1e-2,),
        sense="at least",
        origin=f"we take a hundredth, as for orthogonal samples; from γ = {scale:g}, and not as γ → 0",
        seeds=tuple(numbers["seeds"][0] + np.arange(count)),
    )


def _common(numbers: Numbers, name: str) -> dict[str, Any]:
    count = len(numbers[f"{name}_loss"])
    return {
        "source": "a set of Boursier et al. (2022), outside their theorem",
        "kind": "observed",
        "bound": (_FITTED,),
        "origin": "we take a millionth at the last time",
        "seeds": tuple(numbers["seeds"][0] + np.arange(count)),
    }


def outside(numbers: Numbers) -> Table:
    """One row a draw."""
    rows = [
        (
            name,
            i,
            float(numbers[f"{key}_cosine"][i]),
            float(numbers[f"{key}_loss"][i, -1]),
            float(numbers[f"{key}_norm"][i]),
            float(numbers["line_least"]) if key == "line" else None,
            int(numbers[f"{key}_directions"][i]),
            int(numbers["teacher_heavy"][i]) if key == "teacher" else None,
            int(numbers["teacher_lost"][i]) if key == "teacher" else None,
        )
        for name, key in (("five points", "line"), ("teacher", "teacher"))
        for i in range(len(numbers[f"{key}_loss"]))
    ]
    columns = (
        "set",
        "draw",
        "largest |cos|",
        "last loss",
        "½|θ|²",
        "least",
        "directions",
        "for 90 %",
        "samples lost",
    )
    return Table("Outside the theorem", columns, tuple(rows))
