"""The tables of a report, with all measured numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from biasfree.diagnostics._targets import Part, Shares
from biasfree.diagnostics._weights import layer_summary
from biasfree.diagnostics.advice._measurements import COVERED, Measurements
from biasfree.diagnostics.advice._task import Difference, Score
from biasfree.diagnostics.advice._wording import measured_points
from biasfree.networks import Network
from biasfree.tables import Table

_MEASURED = ("quantity", "value")


def tables(measured: Measurements) -> dict[str, Table]:
    """The tables for which the model and the data are given."""
    made: dict[str, Table] = {}
    if measured.task is not None:
        made["scores"] = _scores(measured)
    if measured.data is not None:
        made["data"] = Table("Data", _MEASURED, tuple(_data(measured)))
        if measured.shares is not None:
            made["targets"] = _targets(measured)
        if measured.preparation is not None:
            made["preparation"] = _preparation(measured)
    if measured.nonlinear is not None:
        made["function"] = Table("Function", _MEASURED, tuple(_function(measured)))
    if measured.network is not None:
        made["layers"] = _layers(measured.network)
    if measured.coverage is not None:
        made["theory"] = _theory(measured)
    return made


def _scores(measured: Measurements) -> Table:
    """How well the model and its competitors do, and on which samples."""
    task = measured.task
    versus = measured.competitors
    peers = measured.peers
    assert task is not None
    rows: list[tuple[Any, ...]] = []

    def add(name: str, score: Score | None, more: Difference | None, samples: str) -> None:
        if score is not None:
            value, lost = score.value, score.cross_entropy
            away = "" if more is None else measured_points(more)
            rows.append((name, value, *([lost] if task.is_classes else []), away, samples))

    if versus is None:
        add("this model", measured.score, None, f"all {task.count:,}")
    else:
        how = f"{versus.folds} folds" if versus.folds > 1 else f"{len(versus.tested):,} held out"
        if measured.score is not None:
            where = f"all {task.count:,}" if versus.folds > 1 else f"the same {len(versus.tested):,}"
            add("this model", measured.score_on(versus.tested), measured.gain, where)
        few = f"5 folds of {versus.flexible_samples:,}"
        best = versus.best
        add("linear map", versus.linear, versus.linear.minus(best), how)
        add("linear map with intercept", versus.affine, versus.affine.minus(best), how)
        kernel = Score(versus.flexible.hits)  # its outputs are no logits
        add("kernel machine", kernel, versus.flexible_gain, few)
    if peers is not None:
        how = f"{peers.folds} folds" if peers.folds > 1 else f"{len(peers.tested):,} held out"
        shape = "same shape" if peers.known else f"{peers.sizes[1]} neurons"
        kinds = (
            (f"{shape}, no biases", peers.plain),
            (f"{shape}, biases", peers.biased),
            ("one layer more, no biases", peers.deeper),
        )
        for name, score in kinds:
            add(name, score, measured.against_linear(peers.tested, score), how)
    constant = ("the best constant", task.baseline, *([None] if task.is_classes else []), "", "")
    rows.append(constant)
    lost = ("cross entropy",) if task.is_classes else ()
    columns = ("model", task.measure, *lost, "minus the better linear map", "samples")
    return Table("How well it does", columns, tuple(rows))


def _data(measured: Measurements) -> Iterator[tuple[str, Any]]:
    data, seen = measured.data, measured.symmetry
    assert data is not None
    assert seen is not None
    yield "samples, dimensions, outputs", f"{len(data)}, {data.dimensions}, {data.outputs}"
    yield "exact mirror images (Condition 3)", seen.exact
    yield "fraction of samples with a mirror input", seen.evenness
    yield "largest |y(x) + y(−x)|/max|y| of these", seen.oddness
    yield "inputs: largest ‖⟨sgn(r·x)xxᵀ⟩‖/‖Σ‖ found", seen.inputs
    yield "inputs: p-value under symmetry", seen.p_inputs
    yield "targets: largest |⟨sgn(r·x)yx⟩|/√(⟨y²⟩TrΣ) found", seen.targets
    yield "targets: p-value under symmetry", seen.p_targets
    yield "both: p-value under symmetry", seen.p_value


def _targets(measured: Measurements) -> Table:
    shares = measured.shares
    assert shares is not None
    rows = [(f"output {i}", *_share(one)) for i, one in enumerate(shares.outputs)]
    rows = [("all", *_share(shares.total))] if len(rows) == 1 else [*rows, ("all", *_share(shares.total))]
    columns = ("share of ⟨y²⟩", "linear", "odd nonlinear", "even", "rest")
    return Table("Targets (two bias-free layers cannot fit the odd nonlinear part)", columns, tuple(rows))


def _share(shares: Shares) -> tuple[Any, ...]:
    return shares.linear, _part(shares.odd), _part(shares.even), shares.noise


def _part(part: Part) -> str:
    if part.identified == "exact":
        return f"{part.value:.3g}"
    return (
        "not identifiable" if part.identified != "estimate" else f"{part.value:.2g} ± {part.error:.1g} (est.)"
    )


def _preparation(measured: Measurements) -> Table:
    made = measured.preparation
    assert made is not None
    kinds = (("as given", made.given), ("centered", made.centered), ("whitened", made.whitened))
    rows = [(name, None, None) if one is None else (name, one.symmetry, one.linear) for name, one in kinds]
    title = f"Preparation: |⟨x⟩|/rms = {made.offset:.2g}, condition number of Σ = {made.condition:.2g}"
    return Table(title, ("inputs", "symmetry defect (at least)", "linear share of ⟨y²⟩"), tuple(rows))


def _function(measured: Measurements) -> Iterator[tuple[str, Any]]:
    assert measured.nonlinear is not None
    for i, n in enumerate(measured.nonlinear):
        yield f"nonlinear share N, output {i}", float(n)
    if measured.residual is not None:
        yield "share of the targets not fitted", measured.residual


def _layers(network: Network) -> Table:
    rows = []
    for one in layer_summary(network):
        leading = ", ".join(f"{value:.3g}" for value in one.spectrum[:4])
        leading += " …" if len(one.spectrum) > 4 else ""
        shape = f"{one.shape[0]} × {one.shape[1]}"
        rows.append((one.name, shape, one.norm, leading, one.stable_rank, one.rank))
    columns = ("layer", "shape", "norm", "leading singular values", "stable rank", "rank")
    return Table("Layers", columns, tuple(rows))


def _theory(measured: Measurements) -> Table:
    assert measured.coverage is not None
    rows = [
        (
            row.result.title,
            row.result.paths[0],
            row.applies,
            f"perhaps: it applies until {row.result.until}"
            if row.perhaps
            else ", ".join(f"{one.hypothesis.key} {one.defect:.2g}" for one in row.missing),
        )
        for row in measured.coverage
    ]
    brief = tuple(row for row in rows if row[2])
    assert measured.data is not None
    on = f", measured on {COVERED} samples" if len(measured.data) > COVERED else ""
    title = f"Theory: {len(brief)} of {len(rows)} results apply{on} (bf.theory.coverage lists all)"
    return Table(title, ("result", "call", "applies", "violated hypotheses"), tuple(rows), brief)
