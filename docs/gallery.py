"""Write OUT/gallery.md: what `bf.diagnose` says of twenty models, and whether it is right.

    python docs/gallery.py OUT    # a minute or two of one core

Needs scikit-learn and PyTorch, which `make install` installs.
"""

import re
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn import datasets

import biasfree as bf
import gallery_data as data
from biasfree.files import replacing
from gallery_models import SwiGLU, Transformer, classifier, cnn, mlp, normed, train

FEW = 20  # samples to train on, below which nothing is known of real data
MARGIN = 0.005  # a difference of scores that counts, as in bf.diagnose


@dataclass(frozen=True)
class Exhibit:
    """A task, a model made with or without biases, and how it is trained."""

    name: str
    kind: str
    make: Callable[[], data.Task]
    model: Callable[..., Any]
    training: dict[str, Any] = field(default_factory=dict)
    seen: bool = False
    """Whether the model is diagnosed on the samples that it was trained on."""

    @cached_property
    def task(self) -> data.Task:
        return self.make()


@dataclass(frozen=True)
class Judged:
    """What the report said of an exhibit, and whether that is right."""

    exhibit: Exhibit
    bias: bool
    linear: float
    model: float
    case: str
    answer: str
    right: str
    seconds: float


def exhibits() -> list[Exhibit]:
    """Twenty of them."""

    def stored(name: str) -> Callable[[], data.Task]:
        return partial(data.stored, getattr(datasets, f"load_{name}"))

    def law(name: str, **options: Any) -> Callable[[], data.Task]:
        return partial(data.law, name, **options)

    digits, deep, gelu = stored("digits"), partial(mlp, depth=3), torch.nn.GELU
    leaky, mirrored = partial(deep, act=torch.nn.LeakyReLU), law("odd", mirrored=True)
    return [
        Exhibit("digits", "convolution, ReLU, linear", digits, classifier),
        Exhibit("breast cancer", "2 layers, ReLU", stored("breast_cancer"), mlp, {"steps": 100}),
        Exhibit("wine", "2 layers, BatchNorm, GELU", stored("wine"), normed, {"steps": 100}),
        Exhibit("iris", "3 layers, LeakyReLU", stored("iris"), leaky, {"steps": 100}),
        Exhibit("diabetes", "2 layers, ReLU", stored("diabetes"), mlp, {"steps": 60, "decay": 0.1}),
        Exhibit("linnerud", "2 layers, ReLU", data.linnerud, mlp),
        Exhibit("noisy digits", "CNN, 3 convolutions", data.denoising, cnn, {"steps": 400, "batch": 32}),
        Exhibit("digits as patches", "transformer", digits, Transformer, {"steps": 250}),
        Exhibit("equal words", "transformer", data.equality, Transformer, {"steps": 200}),
        Exhibit("linear", "SwiGLU block", law("linear"), SwiGLU, {"steps": 200}),
        Exhibit("linear, barely trained", "2 layers, ReLU", law("linear"), mlp, {"steps": 8}),
        Exhibit("offset", "2 layers, ReLU", law("offset"), mlp, {"small": 0.1}),
        Exhibit("threshold", "2 layers, GELU", law("threshold"), partial(mlp, act=gelu), {"steps": 60}),
        Exhibit("odd", "2 layers, ReLU", mirrored, mlp, {"small": 0.3}),
        Exhibit("mirrored digits", "2 layers, ReLU", data.mirrored_digits, mlp, {"small": 0.3}),
        Exhibit("even", "2 layers, ReLU", law("even"), mlp),
        Exhibit("XOR", "3 layers, ReLU", law("XOR", d=3), deep),
        Exhibit("moons", "3 layers, ReLU", data.moons, deep),
        Exhibit("Friedman", "3 layers, GELU", data.friedman, partial(deep, act=gelu)),
        Exhibit("noise", "2 layers, memorized", law("noise"), partial(mlp, width=400), {"decay": 0.0}, True),
    ]


def named(name: str) -> Exhibit:
    """The exhibit of that name."""
    return next(one for one in exhibits() if one.name == name)


def judged(exhibit: Exhibit, *, bias: bool, seed: int = 0) -> Judged:
    """Train, diagnose, and judge the answer by what is known."""
    began = time.process_time()
    task = exhibit.task
    torch.manual_seed(seed)
    model = exhibit.model(int(np.prod(task.x.shape[1:])), task.outputs, bias=bias)
    train(model, task.x, task.y, classes=bool(task.classes), **exhibit.training)
    x, y = (task.x, task.y) if exhibit.seen else (task.test_x, task.test_y)
    report = bf.diagnose(model, (x.astype(np.float32), y), unseen=not exhibit.seen)
    found = _hits(model, task)
    right = _right(report.case, task, found - task.linear, bias=bias, samples=len(x))
    scores = float(task.linear.mean()), float(found.mean())
    return Judged(
        exhibit, bias, *scores, report.case, report.answer, right, seconds=time.process_time() - began
    )


def _hits(model: Any, task: data.Task) -> np.ndarray:
    x, y = task.fresh
    with torch.no_grad():
        f = model(torch.from_numpy(np.array(x)).float()).numpy()
    return data.hits(f.argmax(axis=1) if task.classes else f, y, task.classes)


def _right(case: str, task: data.Task, gap: np.ndarray, *, bias: bool, samples: int) -> str:
    """Whether a case is right, given the scores of the model less those of a linear map on many samples.

    A difference counts if two standard errors of these many samples show it. The report sees `samples` of
    them, and may miss what is below three standard errors of these.
    """
    gain, sure, visible = gap.mean(), 2 * gap.std() / np.sqrt(len(gap)), 3 * gap.std() / np.sqrt(samples)
    if case in ("unconfirmed", "too few", "constant"):
        return "cannot tell"
    pays = task.known or gain > max(1.5 * sure, MARGIN)  # the model itself may show that it does
    true = {
        "earns": pays and gain > sure,
        "needs none": not pays and gain > -MARGIN - visible,
        "not yet": pays and gain < MARGIN + visible,
        "held back": pays and gain < MARGIN + visible and task.mirrored and not bias,
        "no signal": not pays and task.linear.mean() < _baseline(task) + visible,
        "not trained": gain < -sure,
        "intercept": gain < -sure and not bias,
    }
    return "right" if true[case] else "wrong"


def _baseline(task: data.Task) -> float:
    """The score of the best constant."""
    y = task.fresh[1]
    return float(np.bincount(y).max() / len(y)) if task.classes else 0.0


def table(rows: list[Judged]) -> str:
    """The rows in Markdown."""
    lines = ["| data | model | biases | linear | model | answer | judged |", "|---|---|---|---|---|---|---|"]
    for row in rows:
        names = f"{row.exhibit.name} | {row.exhibit.kind} | {'yes' if row.bias else 'no'}"
        scores = f"{100 * row.linear:.1f} | {100 * row.model:.1f}"
        line = f"| {names} | {scores} | {row.answer} | {row.right} |"
        lines.append(re.sub(r"(?<=[ (])-(?=\d)", "−", line))
    counts = {kind: sum(row.right == kind for row in rows) for kind in ("right", "cannot tell", "wrong")}
    summary = ", ".join(f"{count} {kind}" for kind, count in counts.items())
    took = f"All of it took {sum(row.seconds for row in rows):.0f} s of one core."
    return "\n".join([f"Of {len(rows)} answers: {summary}. {took}", "", *lines])


def main(out: Path) -> None:
    torch.set_num_threads(1)
    rows = []
    for exhibit in exhibits():
        for bias in (False, True):
            row = judged(exhibit, bias=bias)
            rows.append(row)
            print(
                f"{row.seconds:5.1f} s  {exhibit.name}, biases {bias}: {row.case} ({row.right})", flush=True
            )
    tasks = {row.exhibit.name: row.exhibit.task for row in rows}
    known = [f"- **{name}**: {task.why}{_told(task)}." for name, task in tasks.items()]
    out.mkdir(parents=True, exist_ok=True)
    with replacing(out / "gallery.md") as file:
        file.write("\n".join(["# Answers", "", table(rows), "", "# What is known", "", *known, ""]).encode())


def _told(task: data.Task) -> str:
    if len(task.x) < FEW:
        return ""
    found = "does better than" if task.known else "does no better than"
    return f"; a nonlinear model {found} a linear map"


if __name__ == "__main__":
    main(Path(sys.argv[1]))
