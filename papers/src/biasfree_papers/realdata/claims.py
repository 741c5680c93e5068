"""Claims and tables on handwritten digits."""

from __future__ import annotations

import xarray

from biasfree.tables import Table
from biasfree_papers.experiment import Claim
from biasfree_papers.shared.linear_twins import ROUNDING
from biasfree_papers.statements import observed, ours, table


def claims(n: xarray.Dataset) -> list[Claim | Table]:
    """With mirror images the networks are one; without, they diverge."""
    return [
        ours(
            "with their mirror images added, ReLU networks learn the digits as their linear twin does, with "
            "square and logistic loss",
            largest_weight_error=n.weight_error.sel(kind="mirrored").max("time"),
            at_most=n.rounding,
            source="[ZSL25] Thm. 5 (TMLR 8); for opposite neurons and descent derived here",
            bound=f"zero up to {ROUNDING}",
            nature="theorem",
            headline=True,
        ),
        observed(
            "on the digits as they are, ReLU networks diverge from their linear twin, with square and "
            "logistic loss",
            last_gap_of_outputs_over_output=n.gap.sel(kind="centered").isel(time=-1),
            at_least=0.05,
            source="measured here, for [ZSL25] Condition 3, which these data do not satisfy",
            bound="a level of ours: 5 % of the output",
            headline=True,
        ),
        _symmetry(n),
        _ends(n),
        _halves(n),
    ]


def _symmetry(n: xarray.Dataset) -> Table:
    return table(
        f"Condition 3 for the centered digits; p of both together {float(n.p_both):.3g}",
        over="moment",
        columns={
            "moment": n.moment,
            "defect": n.defect,
            "median of flipped digits": n.null.median("flip"),
            "largest of flipped digits": n.null.max("flip"),
            "p": n.p,
        },
    )


def _ends(n: xarray.Dataset) -> Table:
    last = n[["curve", "wrong", "gap", "weight_error"]].isel(time=-1).median("seed")
    relu, linear = last.sel(network="ReLU"), last.sel(network="linear")
    return table(
        "the end of training, medians over seeds",
        over=("loss", "kind"),
        columns={
            "loss": n.loss,
            "digits": n.kind,
            "last loss, ReLU": relu.curve,
            "last loss, linear": linear.curve,
            "wrong (%), ReLU": 100 * relu.wrong,
            "wrong (%), linear": 100 * linear.wrong,
            "gap (%)": 100 * last.gap,
            "weight error (%)": 100 * last.weight_error,
            "nonlinear share (%)": 100 * n.nonlinear.median("seed"),
        },
    )


def _halves(n: xarray.Dataset) -> Table:
    """Square loss: how much of the divergence is that of two halves."""
    last = n.sel(loss="square", kind="centered").isel(time=-1).median("seed")
    relu, linear = last.curve.values
    rows = {
        "linear, limit: least squares": (n.least_squares, 0.0),
        "linear, last": (linear, 0.0),
        "ReLU, last": (relu, 100 * last.gap),
        "ReLU of two kinds of neurons, limit: halves": (n.halves_loss, 100 * n.halves_gap),
    }
    loss, gap = ([float(row[i]) for row in rows.values()] for i in range(2))
    columns = {"map": list(rows), "loss": loss, "gap (%)": gap}
    return table(
        "square loss on the centered digits",
        over="map",
        columns={name: xarray.DataArray(values, dims="map") for name, values in columns.items()},
    )
