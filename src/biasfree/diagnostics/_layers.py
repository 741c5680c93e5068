"""A table of a PyTorch model's modules: which of them act as linear maps on the data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from biasfree import tables
from biasfree.arrays import as_array, generator, positive, real, whole
from biasfree.diagnostics._hooks import Call, dtype_of, watch
from biasfree.diagnostics._module_function import SPARE, directional, linear_fit, measured_rows
from biasfree.networks import is_module
from biasfree.tables import Table
from biasfree.ties import EPS, share_side

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_INPUTS = 2**23  # numbers of the inputs of which a sample is measured
_FEWEST = 20
_COLUMNS = ("layer", "kind", "shape", "acts as", "N", "affine N", "additivity", "scale")
_LEGEND = (
    "N: the share of the outputs that the best linear map of the layer's inputs leaves unexplained; affine "
    "N: the same with an intercept, of the variance; both corrected for the number of inputs.",
    "additivity: |f(x±x′) − f(x) ∓ f(x′)|², scale: |f(cx)/c − f(x)|², relative to |f|²; 0 if linear.",
)


@dataclass(frozen=True)
class LayerLinearity:
    """How linear one module of a model is, as a function of its own inputs on the data.

    A number is None where it cannot be told, and `note` says why. `acts` is `linear`, `affine`, `nonlinear`
    or `cannot tell`.

    - `nonlinear`: N, the share of ⟨|f|²⟩ that the best linear map of the inputs leaves unexplained;
      `nonaffine`: the share of the variance that the best affine map leaves.
    - `additivity`: ⟨|f(x±x′) − f(x) ∓ f(x′)|²⟩/⟨|f|²⟩, the mean of sums and differences of two samples;
      `affine_additivity`: the same for f − f(0), which is 0 for an affine map.
    - `scale`: ⟨|f(cx)/c − f(x)|²⟩/⟨|f|²⟩, the mean of c = ½ and c = 2.
    """

    name: str
    kind: str
    inputs: tuple[int, ...] = ()
    outputs: tuple[int, ...] = ()
    nonlinear: float | None = None
    nonaffine: float | None = None
    additivity: float | None = None
    affine_additivity: float | None = None
    scale: float | None = None
    acts: str = "cannot tell"
    note: str = ""


@dataclass(frozen=True)
class LayerTable:
    """The modules of a model in the order of their calls, each with its measured linearity."""

    rows: tuple[LayerLinearity, ...]
    notes: tuple[str, ...] = field(default=())

    def __getitem__(self, name: str) -> LayerLinearity:
        """The row of the module with this name, as in `model.named_modules()`; "" is the model."""
        found = {row.name: row for row in self.rows}
        if name not in found:
            raise KeyError(f"no layer {name!r}; there are {', '.join(repr(known) for known in found)}.")
        return found[name]

    def table(self) -> Table:
        """The rows as a table for a terminal or a page."""
        rows = []
        for row in self.rows:
            names = (row.name or "(model)", row.kind, _shape(row), row.acts)
            numbers = (row.nonlinear, row.nonaffine, row.additivity, row.scale)
            rows.append((*names, *map(_rounded, numbers)))
        return Table("Layers as functions of their inputs, on the data", _COLUMNS, tuple(rows))

    def __str__(self) -> str:
        lines = (*_LEGEND, *(f"Note: {note}" for note in self.notes))
        return f"{self._headline()}\n\n{tables.printed(self.table())}\n{tables.wrapped(lines)}"

    def _headline(self) -> str:
        bent = [row.name or "(model)" for row in self.rows if row.acts == "nonlinear"]
        if not bent:
            unknown = sum(row.acts == "cannot tell" for row in self.rows)
            return "No layer acts as nonlinear" + (f"; of {unknown} that cannot be told." if unknown else ".")
        shown = ", ".join(bent[:8]) + (" …" if len(bent) > 8 else "")
        return f"{len(bent)} of {len(self.rows)} layers act as nonlinear: {shown}."


def layer_linearity(
    model: Any, x: ArrayLike, *, samples: int = 1000, nonlinear_above: float = 0.01, seed: int = 0
) -> LayerTable:
    """Measure which modules of a PyTorch model act as linear maps on the samples x.

    Every module is measured: layers, blocks and the model itself, in evaluation mode, on the inputs that
    reach it in its first call. A module acts as `linear` if N is at most `nonlinear_above`, as `affine` if
    that holds with an intercept. Where there are too few samples for N, additivity and scale decide. If a
    module treats every position of a sequence or an image alone, positions count as samples.

    At most `samples` samples, chosen by `seed`, are used, and fewer of large ones. The model is left as it
    was; its modules are called several times, so that one that counts its calls will count more.

    Reference: derived here; scale equivariance of bias-free networks: Mohan et al. (2020).
    """
    if not is_module(model):
        raise ValueError(f"the model must be a torch.nn.Module, got a {type(model).__name__}.")
    positive("nonlinear_above", nonlinear_above)
    given = as_array("x", x)
    real("x", given)
    if given.ndim < 2 or 0 in given.shape:
        raise ValueError(f"x must have one row per sample, got shape {given.shape}.")
    model = getattr(model, "_orig_mod", model)  # hooks would have a compiled model compiled anew
    size = max(_FEWEST, _INPUTS // max(1, given[0].size))
    count = min(whole("samples", samples), size)
    chosen = generator(seed).permutation(len(given))[:count]
    rows = _rows(model, given[chosen], count, nonlinear_above)
    return LayerTable(rows, _notes(rows, len(chosen), len(given)))


def _rows(model: Any, x: np.ndarray, samples: int, above: float) -> tuple[LayerLinearity, ...]:
    import torch

    rounding = float(torch.finfo(dtype_of(model)).eps)
    names = {module: name for name, module in model.named_modules()}
    blank = {module: LayerLinearity(name, type(module).__name__) for module, name in names.items()}
    measured: dict[Any, LayerLinearity] = {}

    def see(call: Call) -> None:
        measured[call.module] = _row(blank[call.module], call, rounding, samples, above)

    calls = watch(model, x, see)
    rows = []
    for module, count in calls.items():
        row = measured.get(module, blank[module])
        often = f"called {count} times, and measured in the first call" if count > 1 else ""
        rows.append(replace(row, note="; ".join(filter(None, (row.note, often)))))
    never = [row for module, row in blank.items() if module not in calls]
    return (*rows, *(replace(row, note="never called as a module") for row in never))


def _row(blank: LayerLinearity, call: Call, rounding: float, samples: int, above: float) -> LayerLinearity:
    try:
        inputs, f, positions = measured_rows(call, samples)
    except ValueError as error:
        return replace(blank, note=str(error))
    numbers: dict[str, Any] = {"inputs": inputs.shape[1:], "outputs": f.shape[1:]}
    flat = positions if positions is not None else (inputs.reshape(len(inputs), -1), f.reshape(len(f), -1))
    linear = linear_fit(flat[0], rounding=rounding)
    affine = linear.with_intercept()
    numbers |= {"nonlinear": linear.unexplained(flat[1]), "nonaffine": affine.unexplained(flat[1])}
    notes = []
    if not linear.known:
        notes.append(f"{len(flat[0])} samples for {linear.rank} independent inputs are too few for N")
    try:
        numbers |= directional(call)
    except Exception as error:  # a user's module may raise anything on inputs that it has not met
        notes.append(f"it fails on sums and multiples of its inputs ({type(error).__name__}: {error})")
    acts = _acts(numbers, above, rounding)
    return replace(blank, **numbers, acts=acts, note="; ".join(notes))


def _acts(numbers: Mapping[str, Any], above: float, rounding: float) -> str:
    """`linear`, `affine`, `nonlinear` or `cannot tell`: by N if it is known, else by additivity and scale.

    A number that equals `above` to rounding is not more.
    """
    straight = ("nonlinear",) if numbers["nonlinear"] is not None else ("additivity", "scale")
    shifted = "nonaffine" if numbers["nonaffine"] is not None else "affine_additivity"
    if any(numbers.get(name) is None for name in (*straight, shifted)):
        return "cannot tell"
    small = {
        name: share_side(numbers[name], above, terms=rounding / EPS) <= 0 for name in (*straight, shifted)
    }
    if all(small[name] for name in straight):
        return "linear"
    return "affine" if small[shifted] else "nonlinear"


def _rounded(share: float | None) -> float | None:
    """The share; 0 for what rounding leaves of it."""
    return None if share is None else (0.0 if share < 1e-9 else float(share))


def _shape(row: LayerLinearity) -> str:
    ends = ["×".join(map(str, shape)) or "1" for shape in (row.inputs, row.outputs)]
    return "→".join(ends) if row.inputs or row.outputs else "–"


def _notes(rows: tuple[LayerLinearity, ...], used: int, given: int) -> tuple[str, ...]:
    notes = []
    if used < given:
        notes.append(f"{used} of {given} samples were measured, chosen at random.")
    reasons: dict[str, list[str]] = {}
    for row in rows:
        for reason in filter(None, row.note.split("; ")):
            reasons.setdefault(reason, []).append(row.name or "(model)")
    if few := [name for reason, names in reasons.items() if "too few" in reason for name in names]:
        notes.append(
            f"N cannot be told for {', '.join(few)}: it needs {SPARE} samples more than independent inputs. "
            "There, additivity and scale decide."
        )
    notes += [f"{', '.join(names)}: {why}." for why, names in reasons.items() if "too few" not in why]
    return tuple(notes)
