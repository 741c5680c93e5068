"""Claims and tables of the lazy experiment."""

from __future__ import annotations

from typing import Any

import xarray

from biasfree.tables import Table
from biasfree_papers.experiment import Claim
from biasfree_papers.lazy.compute import WITHIN
from biasfree_papers.lazy.points import KINDS
from biasfree_papers.statements import observed, ours, paper, table

#: Scales from which on training is lazy, on symmetric data and on the six points, and until which it is rich.
LAZY, SIX_LAZY, RICH = 30.0, 1e3, 0.1
_LEVEL: Any = {"bound": "a level of ours: 1 % of the initial loss", "basis": "chosen with runs at hand"}


def claims(n: xarray.Dataset) -> list[Claim | Table]:
    """What holds at every scale, where each theory holds, and what does not."""
    return [
        _floor(n), _path(n), _regimes(n), _lazy(n), _rich(n), _saturation(n), _six_lazy(n), _six_rich(n),
        _where(n), _six(n), _exponents(n),
    ]  # fmt: skip


def _floor(n: xarray.Dataset) -> Claim:
    return ours(
        "on symmetric data a linearized network, trained for ever, has at least the loss of least squares",
        excess_over_least_squares=n.excess,
        at_least=-n.excess_rounding,
        source="derived here: the odd part of every kernel of two bias-free layers is linear",
        bound="rounding: of sums of P, H and D terms, and of the eigenvectors of the kernel",
        nature="identity",
        headline=True,
    )


def _path(n: xarray.Dataset) -> Claim:
    ratios = [(n.movement / n.longest_path).values, (n.six_movement / n.six_longest_path).values]
    return ours(
        "weights move by at most √(t(L(0) − L(t))) at every scale and width, lazy or rich, on both tasks",
        movement_over_that=xarray.DataArray([value for one in ratios for value in one.ravel()], dims="run"),
        at_most=1.0,
        source="derived here: L̇ = −|θ̇|², and Cauchy–Schwarz",
        bound="derived: 1 for a path that is straight and of constant speed",
        nature="theorem",
        seeds=tuple(n.seed.values),
    )


def _regimes(n: xarray.Dataset) -> Claim:
    away = n.exponent.where(n.regime != 0).stack(point=("size", "ratio")).dropna("point")
    sides = n.regime.stack(point=("size", "ratio")).sel(point=away.point)
    return paper(
        "with growing width W₁ moves less and less where γ < 1 or γ′ > γ − 1, and more and more where γ > 1 "
        "and γ′ < γ − 1 (σ_aσ_w = H^−γ, σ_a/σ_w = H^−γ′; movements relative to W₁)",
        exponent_of_the_movement_positive_where_it_should_grow=away * sides,
        at_least=0.0,
        source="Luo et al. 2021, as far as known to us",
        bound="the sign of the exponent",
        basis="stated",
        each="points of the diagram",
        seeds=tuple(n.seed.values),
        headline=True,
        rebuilt=True,
        note="Exponents are fitted at finite widths: next to a boundary they may have the other sign.",
    )


def _lazy(n: xarray.Dataset) -> Claim:
    return observed(
        f"neurons in pairs, f = 0 at t = 0: from scale {LAZY:g} on linearized training has the loss of the "
        "network within 1 %",
        largest_error=n.lazy_error.sel(kind="pairs", scale=n.scale >= LAZY),
        at_most=WITHIN,
        source="measured here, symmetric data",
        **_LEVEL,
    )


def _rich(n: xarray.Dataset) -> Claim:
    return observed(
        f"up to scale {RICH:g} the closed form of small weights has the loss of the network within 1 %, at "
        "every width",
        largest_error=n.rich_error.sel(scale=n.scale <= 1.001 * RICH),
        at_most=WITHIN,
        source="measured here, symmetric data; its error falls as the square of the scale",
        **_LEVEL,
    )


def _saturation(n: xarray.Dataset) -> Claim:
    large = n.movement.sel(kind="independent", scale=n.scale >= 10)
    return observed(
        "independent weights are no lazier at a larger scale: initial outputs, of order γ²/√H, are unlearned",
        movement_at_the_largest_scale_over_that_at_10=large.isel(scale=-1) / large.isel(scale=0),
        at_least=0.5,
        source="measured here; relative movements are of order 1/γ² + 1/√H",
        bound="a level of ours: a half",
        basis="chosen with runs at hand",
        headline=True,
    )


def _six_lazy(n: xarray.Dataset) -> Claim:
    return observed(
        f"six points: at scale {SIX_LAZY:g} linearized training has the loss of the network within 1 %",
        largest_error=n.six_lazy_error.sel(six_scale=n.six_scale >= 0.999 * SIX_LAZY),
        at_most=WITHIN,
        source="measured here, neurons in pairs",
        **_LEVEL,
        note="At scale 100 not every seed is, though weights move by thousandths: a neuron that reaches the "
        "hyperplane of a sample slides along it, which no linearized network does.",
    )


def _six_rich(n: xarray.Dataset) -> Claim:
    return observed(
        f"six points: up to scale {RICH:g} the closed form has the loss of the network until the plateau is "
        "left, to order δ",
        largest_error=n.six_fall_error.sel(six_scale=n.six_scale <= 1.001 * RICH),
        at_most=n.delta,
        source="measured here; the closed form is one of leading order in δ",
        bound="a level of ours: δ",
    )


def _where(n: xarray.Dataset) -> Table:
    """The brackets of the crossings; None where an error does not cross 1 %."""
    rows = []
    for kind in KINDS:
        for width in n.width.values:
            lines = [_bracket(n, f"{kind}_{name}", width) for name in ("rich_error", "lazy_error")]
            rows.append((kind, int(width), *lines))
    columns = ("neurons", "width", "closed form of small weights, until scale", "linearized, from scale")
    return Table("symmetric data: scales between which median errors cross 1 %", columns, tuple(rows))


def _bracket(n: xarray.Dataset, prefix: str, width: float) -> str:
    here = n[f"{prefix}_line_width"].values == width
    low, high = (n[f"{prefix}_line_{end}"].values[here] for end in ("low", "high"))
    return ", ".join(f"{a:.2g} – {b:.2g}" for a, b in zip(low, high, strict=True)) or "never"


def _six(n: xarray.Dataset) -> Table:
    return table(
        f"six points, δ = {float(n.delta):g}: medians over seeds, errors relative to the initial loss",
        over=("six_width", "six_scale"),
        columns={
            "width": n.six_width,
            "scale": n.six_scale,
            "error of linearized training": n.six_lazy_error.median("seed"),
            "of the closed form": n.six_rich_error.median("seed"),
            "until the plateau is left": n.six_fall_error.median("seed"),
            "weights moved by": n.six_movement.median("seed"),
            "kernel moved by": n.six_kernel_movement.median("seed"),
        },
    )


def _exponents(n: xarray.Dataset) -> Table:
    return table(
        "exponent of the relative movement of W₁ in the width [rebuilt]",
        over=("size", "ratio"),
        columns={
            "γ": n["size"],
            "γ′": n.ratio,
            "measured": n.exponent,
            "by orders of magnitude": n.predicted_exponent,
            "Luo et al.: falls (−1), grows (1)": n.regime,
        },
    )
