"""Claims and tables on Kou et al.: the paper's, and those observed."""

from __future__ import annotations

import numpy as np

from biasfree.tables import Table
from biasfree_papers.experiment import Claim, of_runs
from biasfree_papers.kou2023.sentences_derived import derived
from biasfree_papers.kou2023.sentences_exponents import exponents, law, standard_errors
from biasfree_papers.types import Numbers

_KOU = "Kou et al. 2023"
_BOUNDED = 3.0
_INPUTS = "nearly orthogonal Gaussian inputs, n·max|x_i·x_j|/min|x_i|² < 1"


def claims(numbers: Numbers) -> list[Claim]:
    """What is derived for orthogonal inputs, then what the paper says of nearly orthogonal ones."""
    paper = (_rank_one, _bounded, _spread, _exponent)
    return [*derived(numbers), *(part(numbers) for part in (*paper, _outside, _constant, _turned))]


def _leaky(numbers: Numbers, *, leaky: bool) -> np.ndarray:
    """Which runs on Gaussian inputs are of leaky networks, or of ReLU ones: (dimensions, seeds, leaks)."""
    return np.broadcast_to((numbers["leaks"] > 0) == leaky, numbers["near_orthogonality"][:-1].shape)


def _near(numbers: Numbers) -> np.ndarray:
    """Which of them have inputs that are nearly orthogonal, so that the paper speaks of them."""
    return numbers["near_orthogonality"][:-1] < 1


def _of(values: np.ndarray, chosen: np.ndarray) -> tuple[float, ...]:
    """The values of some runs on Gaussian inputs; NaN if there are none."""
    return tuple(values[:-1][chosen]) or (np.nan,)


def _last_ranks(numbers: Numbers) -> np.ndarray:
    """The larger stable rank of both sign blocks at the end."""
    return numbers["ranks"][..., -1, 1:].max(axis=-1)


def _rank_one(numbers: Numbers) -> Claim:
    return Claim(
        sentence="leaky ReLU: the stable rank of either sign block tends to 1 (larger of both at the end, "
        f"{_INPUTS})",
        source=_KOU,
        kind="paper",
        measured=_of(_last_ranks(numbers), _leaky(numbers, leaky=True) & _near(numbers)),
        bound=(1.02,),
        origin="the paper is about the limit; we take 2 %",
        basis="chosen with runs at hand",
        **of_runs(numbers),
    )


def _outside(numbers: Numbers) -> Claim:
    far = _leaky(numbers, leaky=True) & ~_near(numbers)
    return Claim(
        sentence="outside near-orthogonality, of which the paper does not speak, leaky blocks end above rank "
        "one: some neurons stay on the wrong side of a sample (larger stable rank of both at the end)",
        source="measured here",
        kind="observed",
        measured=_of(_last_ranks(numbers), far),
        bound=(1.02,),
        sense="at least",
        origin="the 2 % that we take for rank one",
        basis="chosen with runs at hand",
        **of_runs(numbers),
    )


def _bounded(numbers: Numbers) -> Claim:
    half = numbers["ranks"].shape[-2] // 2
    ranks = numbers["ranks"][..., half:, 1:].max(axis=(-2, -1))
    return Claim(
        sentence="ReLU: the stable rank of either sign block stays bounded (largest over the later half of "
        f"the saved steps, {_INPUTS})",
        source=_KOU,
        kind="paper",
        measured=_of(ranks, _leaky(numbers, leaky=False) & _near(numbers)),
        bound=(_BOUNDED,),
        origin=f"the paper gives no number that we know; we take {_BOUNDED:g}, one and a half times what "
        "gates drawn with equal odds end at",
        basis="chosen with runs at hand",
        **of_runs(numbers),
    )


def _spread(numbers: Numbers) -> Claim:
    return Claim(
        sentence="normalised margins become equal (last spread over that at the first step, leaky and ReLU, "
        f"{_INPUTS})",
        source=_KOU,
        kind="paper",
        measured=_of(numbers["spread"][..., -1] / numbers["spread"][..., 1], _near(numbers)),
        bound=(0.5,),
        origin="the paper is about the limit, which is approached as 1/ln t; we take a half",
        basis="chosen with runs at hand",
        **of_runs(numbers),
    )


def _exponent(numbers: Numbers) -> Claim:
    found = exponents(numbers)
    error = standard_errors(found)
    nearest = found[-2].mean(axis=0), error[-2]
    words = ", ".join(
        f"{mean:.4f} ± {se:.4f} for leak {leak:g}"
        for mean, se, leak in zip(*nearest, numbers["leaks"], strict=True)
    )
    return Claim(
        sentence=f"the loss falls as 1/t (distance of the fitted exponent from −1, {_INPUTS}; means "
        f"and standard errors over seeds in {numbers['dimensions'][-1]} dimensions: {words})",
        source=_KOU,
        kind="paper",
        measured=_of(np.abs(found + 1), _near(numbers)),
        bound=(0.02,),
        origin="corrections to the law are of order ln(ct)/(ct), and larger than the errors over seeds; we "
        "take 0.02",
        basis="chosen with runs at hand",
        **of_runs(numbers),
    )


def _constant(numbers: Numbers) -> Claim:
    return Claim(
        sentence="and loss·t tends to Σλ_i, the squared norm of the max-margin network of margin 1 with the "
        "last gates (distance of their ratio from 1)",
        source="derived here to leading order, for gates that last and samples that are all on the margin",
        kind="observed",
        measured=tuple(np.abs(ratio(numbers)[..., -1] - 1).ravel()),
        bound=(0.1,),
        origin="leading order; we take 10 %",
        basis="chosen with runs at hand",
        **of_runs(numbers),
    )


def ratio(numbers: Numbers) -> np.ndarray:
    """Loss times t over its constant, along every run."""
    return numbers["loss"] * numbers["steps"] * numbers["step"] / numbers["constant"][..., None]


def _turned(numbers: Numbers) -> Claim:
    return Claim(
        sentence="small ReLU networks do not keep their gates on nearly orthogonal inputs as they do on "
        "orthogonal ones: the pull of other samples and the start both fall as d^(−1/2) (share of gates not "
        "foretold)",
        source="measured here",
        kind="observed",
        measured=_of(numbers["other_gates"], _leaky(numbers, leaky=False)),
        bound=(0.05,),
        sense="at least",
        origin="we take 5 %",
        basis="chosen with runs at hand",
        note="So their stable rank ends below that on orthogonal inputs, as far as these dimensions go.",
        **of_runs(numbers),
    )


def tables(numbers: Numbers) -> list[Table]:
    """Medians over seeds for every number of dimensions and leak."""
    columns = (
        "inputs", "n·max|x·x'|/min|x|²", "leak", "end", "end, a > 0", "end, a < 0", "limit, a > 0",
        "limit, a < 0", "spread", "1 + exponent", "± standard error", "of the flow on ⊥",
        "loss·t/Σλ", "gates not foretold",
    )  # fmt: skip
    fitted = exponents(numbers)
    names = [*map(int, numbers["dimensions"]), "orthogonal"]
    rows = [
        _row(numbers, fitted, k, j, name)
        for k, name in enumerate(names)
        for j in range(len(numbers["leaks"]))
    ]
    return [
        Table(
            "medians over seeds: stable ranks of W₁ and its sign blocks, margins and loss",
            columns,
            tuple(rows),
        )
    ]


def _row(numbers: Numbers, fitted: np.ndarray, k: int, j: int, name: object) -> tuple[object, ...]:
    slopes = fitted[k, :, j]

    def middle(values: np.ndarray) -> float:
        return float(np.median(values[k, :, j]))

    return (
        name,
        middle(numbers["near_orthogonality"]),
        float(numbers["leaks"][j]),
        *(middle(numbers["ranks"][..., -1, i]) for i in range(3)),
        *(middle(numbers["limit"][..., i]) for i in (1, 2)),
        middle(numbers["spread"][..., -1]),
        float(1 + slopes.mean()),
        float(standard_errors(fitted)[k, j]),
        float(1 + np.median(law(numbers)[:, j])),
        middle(ratio(numbers)[..., -1]),
        middle(numbers["other_gates"]),
    )
