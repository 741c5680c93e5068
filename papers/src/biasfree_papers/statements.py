"""Statements of a figure: claims that are ours, a paper's or observed, and tables; from named arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import xarray

from biasfree.tables import Table
from biasfree_papers.experiment import Claim

#: Axes whose values are not counted by adding an s to their names.
_PLURALS = {
    "delta": "values of δ",
    "gamma": "values of γ",
    "class": "classes",
    "loss": "losses",
    "P": "values of P",
}


def ours(sentence: str, /, **parts: Any) -> Claim:
    """A claim that this package guarantees, with a derived bound: the command fails if it does not hold.

    One keyword names the measured quantity, an array whose axes say what the claim is about:
    `ours("…", largest_gap=n.gap.max("time"), at_most=1e-9, source="[ZSL25] Thm. 5", bound="rounding: …")`.
    Further keywords are those of `paper`, and `nature`, which says what its failing would tell: "prediction",
    "theorem" or "identity", as `Claim` defines them.
    """
    return _claim(sentence, "ours", parts)


def paper(sentence: str, /, **parts: Any) -> Claim:
    """A claim that a paper states or shows; it is reported, with the reason in `note` if it does not hold.

    Keywords: `at_most` or `at_least`, a number or an array like the measured one; `source`; `bound`, the
    origin of the bound, and `basis`, its kind; `headline=True` for up to three claims per figure; `each`,
    what the values are counted as; `seeds`; `note`; `rebuilt=True` for our reading of an open text.
    """
    return _claim(sentence, "paper", parts)


def observed(sentence: str, /, **parts: Any) -> Claim:
    """A claim that was measured here and has no derivation; keywords as for `paper`."""
    return _claim(sentence, "observed", parts)


_NAMED = (
    "at_most",
    "at_least",
    "source",
    "bound",
    "basis",
    "headline",
    "nature",
    "rebuilt",
    "note",
    "each",
    "seeds",
)


def _claim(sentence: str, kind: Literal["ours", "paper", "observed"], parts: dict[str, Any]) -> Claim:
    measured = {name: value for name, value in parts.items() if name not in _NAMED}
    given = {name: value for name, value in parts.items() if name in _NAMED}
    senses = [name for name in ("at_most", "at_least") if name in given]
    if len(measured) != 1 or len(senses) != 1:
        raise ValueError(
            f"a claim needs one measured quantity and one of at_most and at_least, got {sorted(parts)}."
        )
    ((quantity, values),) = measured.items()
    bound = given.pop(senses[0])
    if isinstance(values, xarray.DataArray) and isinstance(bound, xarray.DataArray):
        bound = bound.broadcast_like(values).transpose(*values.dims) if bound.ndim else bound
    return Claim(
        sentence=sentence,
        kind=kind,
        quantity=quantity.replace("_", " "),
        measured=_flat(values) or (np.nan,),  # nothing measured: it does not hold
        bound=_flat(bound),
        sense="at most" if senses[0] == "at_most" else "at least",
        origin=given.pop("bound"),
        each=given.pop("each", None) or _each(values),
        seeds=given.pop("seeds", _seeds(values)),
        **given,
    )


def _flat(values: Any) -> tuple[float, ...]:
    return tuple(np.ravel(np.asarray(values, dtype=float)).tolist())


def _each(values: Any) -> str:
    """What the values are counted as: their axis if there is one, else runs."""
    dims = values.dims if isinstance(values, xarray.DataArray) else ()
    if len(dims) != 1:
        return "runs" if dims else "values"
    return _PLURALS.get(str(dims[0]), f"{dims[0]}s")


def _seeds(values: Any) -> tuple[int, ...]:
    """The seeds of the values, where they have that axis; else those of the figure are filled in."""
    if isinstance(values, xarray.DataArray) and "seed" in values.coords:
        return tuple(int(seed) for seed in np.ravel(values.seed))
    return ()


def table(title: str, /, *, columns: Mapping[str, Any], over: str | Sequence[str] = ()) -> Table:
    """A table with one row per value of the axis `over`, or per combination of values of several axes.

    `columns` maps headings to arrays over these axes, or to single values. The values of the axes are columns
    like the others: `table("…", over="delta", columns={"δ": n.delta, "escaped": n.escaped.sum("seed")})`.
    Rows are left out where every column that has all the axes is NaN.
    """
    axes = (over,) if isinstance(over, str) else tuple(over)
    arrays = {name: _as_array(value) for name, value in columns.items()}
    for name, array in arrays.items():
        if not {*array.dims} <= {*axes}:
            raise ValueError(f"the column {name!r} of {title!r} has the axes {array.dims}, not {axes}.")
    wide = xarray.broadcast(*arrays.values()) if axes else arrays.values()
    cells = [np.ravel(array.transpose(*axes).values).tolist() for array in wide]
    rows = [tuple(map(_cell, row)) for row in zip(*cells, strict=True)]
    full = [
        i for i, array in enumerate(arrays.values()) if {*array.dims} == {*axes} and array.name not in axes
    ]
    kept = [row for row in rows if not axes or len(axes) == 1 or any(row[i] is not None for i in full)]
    return Table(title, tuple(columns), tuple(kept))


def _as_array(value: Any) -> xarray.DataArray:
    return value if isinstance(value, xarray.DataArray) else xarray.DataArray(np.asarray(value))


def _cell(value: Any) -> Any:
    return None if isinstance(value, float) and np.isnan(value) else value
