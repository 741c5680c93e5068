"""Networks of a model's shape, without and with biases and with one layer more, trained on its data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from biasfree.arrays import Float, Int
from biasfree.diagnostics._mirror_test import sample_lines
from biasfree.diagnostics.advice._competitors import folds
from biasfree.diagnostics.advice._task import Score, Task
from biasfree.threads import load

if TYPE_CHECKING:
    from biasfree.networks import Network

_WIDTH = 64  # hidden neurons where the model's shape is not known
_FOLDS = 5
_CROSS_VALIDATED = 1000  # samples above which one fifth is held out once
_STEPS = 1000  # of Adam, at most
_EVERY = 20  # steps between two looks at the samples that stop the training
_PATIENCE = 10  # looks without a better loss
_BATCH = 64
_STEP = 5e-3


@dataclass(frozen=True, eq=False)
class Peers:
    """Scores on held-out samples of networks trained here; `tested` are these samples."""

    sizes: tuple[int, ...]
    """Inputs, hidden neurons of each layer, outputs."""
    known: bool
    """Whether these are the sizes of the model."""
    tested: Int[np.ndarray, "T"]
    folds: int
    plain: Score
    """The same shape, without biases."""
    biased: Score
    """The same shape, with biases."""
    deeper: Score
    """One hidden layer more, without biases."""


def peers(x: Float[np.ndarray, "P D"], task: Task, network: Network | None, *, seed: int) -> Peers:
    """Train ReLU networks by Adam on some samples and test them on the others, cross-validated if few."""
    outputs = task.one_hot.shape[1] if task.is_classes else task.numbers.shape[1]  # type: ignore[union-attr]
    known = network is not None and network.depth > 1
    hidden = network.sizes[1:-1] if network is not None and network.depth > 1 else (_WIDTH,)
    parts = folds(sample_lines(x)[0], seed, _FOLDS)
    parts = parts[:1] if len(x) > _CROSS_VALIDATED else parts
    tested = np.concatenate(parts)
    scores = []
    for layers, biased in ((hidden, False), (hidden, True), ((*hidden, hidden[-1]), False)):
        found = []
        for part in parts:
            train = np.setdiff1d(np.arange(len(x)), part)
            found.append(_predicted(x[train], task.rows(train), x[part], layers, biased, seed))
        scores.append(task.rows(tested).score(np.concatenate(found)))
    return Peers((x.shape[1], *hidden, outputs), known, tested, len(parts), *scores)


def _predicted(
    x: np.ndarray, task: Task, at: np.ndarray, hidden: tuple[int, ...], biased: bool, seed: int
) -> np.ndarray:
    """Numbers or logits at other inputs, of a network trained until a tenth of the samples is fitted worse.

    The inputs are divided by one number, so that linear maps without intercept stay such. A network without
    biases has them set to zero after every step: its gradient is never taken elsewhere.
    """
    neural = load("sklearn.neural_network")
    make = neural.MLPClassifier if task.is_classes else neural.MLPRegressor
    model = make(
        hidden_layer_sizes=hidden, alpha=0.0, learning_rate_init=_STEP, shuffle=False, random_state=seed
    )
    options: dict[str, Any] = {} if task.classes is None else {"classes": np.arange(len(task.classes))}
    size = float(np.sqrt(np.mean(x**2))) or 1.0
    y, unit = task.labels, 1.0
    if task.numbers is not None:
        unit = float(np.sqrt(np.mean(task.numbers**2))) or 1.0
        y = (task.numbers / unit).astype(np.float32)
        y = y[:, 0] if y.shape[1] == 1 else y
    assert y is not None
    z, there = ((part / size).astype(np.float32) for part in (x, at))

    def predict(inputs: np.ndarray) -> np.ndarray:
        if task.is_classes:
            return np.log(np.maximum(model.predict_proba(inputs), 1e-30).astype(float))
        return unit * model.predict(inputs).astype(float).reshape(len(inputs), -1)

    watched = folds(sample_lines(x)[0], 0, 10)[0]
    train, wanted = np.setdiff1d(np.arange(len(x)), watched), task.rows(watched)
    rng = np.random.default_rng([seed, 8])
    best = np.inf
    since = 0
    kept = np.empty(0)
    for step in range(1, _STEPS + 1):
        chosen = rng.permutation(train)[:_BATCH]
        model.partial_fit(z[chosen], y[chosen], **options)
        for bias in () if biased else model.intercepts_:
            bias[:] = 0
        if step % _EVERY:
            continue
        score = wanted.score(predict(z[watched]))
        loss = -score.value if score.cross_entropy is None else score.cross_entropy
        since += 1
        if loss < best:
            best = loss
            since = 0
            kept = predict(there)
        if since > _PATIENCE:
            break
    return kept
