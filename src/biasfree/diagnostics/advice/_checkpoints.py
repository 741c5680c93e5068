"""The trend over checkpoints: when a model left the linear regime, and when it passed the best linear map."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any, Literal

from biasfree import pages, tables
from biasfree.arguments import public
from biasfree.arrays import positive, whole
from biasfree.diagnostics.advice._competitors import MISSING, Competitors, installed
from biasfree.diagnostics.advice._measurements import Measurements
from biasfree.diagnostics.advice._samples import Samples, samples_of
from biasfree.diagnostics.advice._subject import subject_of, targets_for
from biasfree.diagnostics.advice._wording import amount, percent
from biasfree.files import replacing
from biasfree.networks import (
    borrowed_weights,
    checkpoint_files,
    checkpoint_steps,
    is_module,
    load_network,
    load_state,
    put_weights_into,
)
from biasfree.tables import Table, as_json
from biasfree.threads import one_blas_thread
from biasfree.ties import share_side, side

_ROUNDINGS = 10_000  # of a mean over the samples of a checkpoint


@dataclass(frozen=True)
class Checkpoint:
    """One checkpoint: its step, its score, and how linear it is.

    `step` is the number in the file's name, else its place in the order. `gain` is the score less that of the
    best linear map, on samples held out from its fit, `error` its standard error; None where there are too
    few samples. `nonlinear` is N, for the worst output; `nonaffine` the same with an intercept.
    """

    step: int
    name: str
    score: float
    gain: float | None
    error: float | None
    nonlinear: float
    nonaffine: float


@dataclass(frozen=True)
class Trend:
    """The checkpoints of a training run, in order.

    `score` of each is `measure`, R² or accuracy, on all samples; `linear` is that of the best linear map on
    samples held out from its fit, None where there are too few.
    """

    rows: tuple[Checkpoint, ...]
    measure: str
    linear: float | None
    nonlinear_above: float
    notes: tuple[str, ...] = ()

    @property
    def left_at(self) -> int | None:
        """The first step of the last stretch of nonlinear checkpoints; None if the last is linear."""
        above = self.nonlinear_above
        return self._since([share_side(row.nonlinear, above, terms=_ROUNDINGS) > 0 for row in self.rows])

    @property
    def passed_at(self) -> int | None:
        """The first step since which the gain over the best linear map is above two standard errors.

        A tie is not.
        """
        gains = [
            row.gain is not None and side(2 * (row.error or 0.0), row.gain, terms=_ROUNDINGS, size=1.0) < 0
            for row in self.rows
        ]
        return self._since(gains)

    @property
    def answer(self) -> str:
        """What happened, in two sentences."""
        first, last = self.rows[0], self.rows[-1]
        begin, end = (f"{percent(row.nonlinear)} at step {row.step}" for row in (first, last))
        said = f"N goes from {begin} to {end}: "
        if self.left_at is None:
            said += "the model is effectively linear at the end."
        elif self.left_at == first.step:
            said += "the model is nonlinear at every checkpoint."
        else:
            said += f"the model is nonlinear since step {self.left_at}."
        if self.linear is None:
            return said
        verb, by = ("explains", "") if self.measure == "R²" else ("is right for", "for ")
        best, mine = amount(self.linear), amount(last.score)
        said += f" The best linear map {verb} {best}, the model {by}{mine} at the end"
        if self.passed_at is None:
            return f"{said}: no gain over a linear map is seen."
        return f"{said}: a gain is seen since step {self.passed_at}."

    def table(self) -> Table:
        """The checkpoints as a table for a terminal or a page."""
        columns = ("step", "file", self.measure, "gain over linear", "standard error", "N", "affine N")
        return Table("Checkpoints", columns, tuple(map(astuple, self.rows)))

    def to_json(self) -> str:
        """The trend as JSON."""
        record = {
            "answer": self.answer,
            "measure": self.measure,
            "linear": self.linear,
            "table": self.table().record(),
            "thresholds": {"nonlinear_above": self.nonlinear_above},
            "notes": list(self.notes),
        }
        return json.dumps(as_json(record), indent=1, ensure_ascii=False, allow_nan=False)

    @one_blas_thread
    def save_html(self, path: str | os.PathLike[str]) -> None:
        """Write the trend as an HTML page with a picture."""
        from biasfree.diagnostics.advice._page import figure

        parts = [
            pages.heading(self.answer, level=1),
            figure("score and N over the checkpoints", self._draw),
            pages.rows(self.table()),
            *map(pages.note, self.notes),
        ]
        text = pages.page("biasfree: checkpoints", parts)
        with replacing(path) as file:
            file.write(text.encode())

    def __str__(self) -> str:
        notes = "".join(f"Note: {note}\n" for note in self.notes)
        return f"{self.answer}\n\n{tables.printed(self.table())}{notes}"

    def _since(self, true: list[bool]) -> int | None:
        if not true[-1]:
            return None
        begin = max((i + 1 for i, one in enumerate(true) if not one), default=0)
        return self.rows[begin].step

    def _draw(self, axes: Any) -> None:
        ts = [row.step for row in self.rows]
        axes.plot(ts, [row.score for row in self.rows], "o-", label=self.measure)
        axes.plot(ts, [row.nonlinear for row in self.rows], "s-", label="N")
        if self.linear is not None:
            axes.axhline(self.linear, color="black", linestyle="--", label="best linear map")
        axes.set_xlabel("step")


@public
def diagnose_checkpoints(
    model: Any,
    checkpoints: str | os.PathLike[str] | Sequence[Any],
    data: Any,
    y: Any = None,
    *,
    output: int | str | None = None,
    task: Literal["regression", "classification"] | None = None,
    classes: Sequence[Any] | None = None,
    leak: float | None = None,
    nonlinear_above: float = 0.01,
    seed: int = 0,
) -> Trend:
    """Measure a model at every checkpoint of its training: its score, and whether it is linear.

    `model` is a `torch.nn.Module`, which has its own weights again at the end, a function that builds one, or
    None for checkpoints of Linear layers with (leaky) ReLU of slope `leak`. `checkpoints` is a folder, also
    with subfolders, or a list of files: `.pt`, `.pth`, `.ckpt`, `.safetensors`, or `.npz` of
    `Network.save`. They are read as weights only, and sorted so that step 9 comes before step 10; a list
    keeps its order. `data`, `y`, `output`, `task` and `classes` are those of `bf.diagnose`.

    Reference: derived here.
    """
    positive("nonlinear_above", nonlinear_above)
    whole("seed", seed, at_least=0)
    files = checkpoint_files(checkpoints)
    if model is not None and not is_module(model):
        if not callable(model):
            raise ValueError(
                f"the model must be a torch.nn.Module, a function that builds one, or None, got a "
                f"{type(model).__name__}."
            )
        model = model()
    samples = samples_of(data, y, seed=seed)
    known = checkpoint_steps(files)
    rows = []
    last = None
    versus = None
    with _each(model, leak) as load:
        for i, file in enumerate(files):
            subject = subject_of(load(file), samples, output=output)
            given, dataset = targets_for(subject, samples, task=task, classes=classes)
            last = Measurements(subject, dataset, flips=1, seed=seed, task=given)
            versus = versus or last.competitors  # of the data, the same for all checkpoints
            rows.append(_row(last, versus, known[i] if known else i + 1, file.name))
    assert last is not None
    assert last.task is not None
    linear = None if versus is None else versus.best.value
    return Trend(tuple(rows), last.task.measure, linear, nonlinear_above, _notes(samples, known is not None))


def _row(found: Measurements, versus: Competitors | None, step: int, name: str) -> Checkpoint:
    assert found.score is not None
    assert found.nonlinear is not None
    assert found.beyond_affine is not None
    nonlinear, nonaffine = float(found.nonlinear.max()), float(found.beyond_affine.max())
    gain = None if versus is None else found.score_on(versus.tested).minus(versus.best)
    value, error = (None, None) if gain is None else (gain.value, gain.error)
    return Checkpoint(step, name, found.score.value, value, error, nonlinear, nonaffine)


def _notes(samples: Samples, known: bool) -> tuple[str, ...]:
    counted = "the names of the files tell no steps: they are numbered in their order."
    fitted = f"the comparison with fitted models {MISSING}"
    return (*samples.notes, *(() if known else (counted,)), *(() if installed() else (fitted,)))


@contextmanager
def _each(model: Any, leak: float | None) -> Iterator[Callable[[Path], Any]]:
    """A function that gives the model of a checkpoint."""
    if model is None:
        yield lambda file: load_network(file, leak=leak)
        return
    if leak is not None:
        raise ValueError("leak is only for checkpoints without a model; leave it out.")

    def load(file: Path) -> Any:
        put_weights_into(model, load_state(file), file)
        return model

    with borrowed_weights(model):
        yield load
