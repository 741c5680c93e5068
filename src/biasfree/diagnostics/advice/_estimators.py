"""Estimators and pipelines of scikit-learn, and others with its methods, as functions of samples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from biasfree.diagnostics.advice._task import Kind
from biasfree.networks import Network

_METHODS: tuple[tuple[str, Kind], ...] = (
    ("predict_proba", "probabilities"),
    ("decision_function", "logits"),
    ("predict", "labels"),
)
_SLOPES = {"relu": 0.0, "identity": 1.0}


@dataclass(frozen=True, eq=False)
class Estimator:
    """A fitted estimator: what to call, what that returns, and its network if its layers can be read."""

    name: str
    function: Callable[[np.ndarray], Any]
    kind: Kind
    classes: tuple[Any, ...] | None
    network: Network | None


def as_estimator(model: Any, columns: Sequence[str] | None) -> Estimator | None:
    """The estimator, or None if the model is not one; `columns` are the names of a data frame's columns."""
    if isinstance(model, type) or not hasattr(model, "predict") or not hasattr(model, "fit"):
        return None
    name, classes = type(model).__name__, getattr(model, "classes_", None)
    if isinstance(classes, list):
        raise ValueError(f"{name} predicts several labels per sample; diagnose one of them.")
    classes = None if classes is None else tuple(np.asarray(classes).tolist())
    kind: Kind = "numbers"
    if classes is None:
        method = "predict"
    else:
        method, kind = next(pair for pair in _METHODS if hasattr(model, pair[0]))
    called, framed = getattr(model, method), _framed(model, columns)

    def function(x: np.ndarray) -> Any:
        found = np.asarray(called(framed(x)))
        if kind == "labels":
            assert classes is not None
            return np.equal.outer(found, np.asarray(classes)).astype(float)
        return found

    network = network_of_estimator(model)
    kind = "logits" if network is not None and classes is not None else kind
    return Estimator(name, function, kind, classes, network)


def network_of_estimator(model: Any) -> Network | None:
    """The network of an `MLPRegressor` or `MLPClassifier` with ReLU or no activation; None for others."""
    weights, slope = getattr(model, "coefs_", None), _SLOPES.get(getattr(model, "activation", ""))
    if not isinstance(weights, list) or slope is None or not hasattr(model, "intercepts_"):
        return None
    if getattr(model, "out_activation_", "") not in ("identity", "softmax", "logistic"):
        return None
    return Network(tuple(np.asarray(w).T for w in weights), leak=slope, biases=model.intercepts_)


def _framed(model: Any, columns: Sequence[str] | None) -> Callable[[np.ndarray], Any]:
    """Rows as the estimator was given them: as a data frame if it knows the names of its columns."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        return lambda x: x
    import pandas

    return lambda x: pandas.DataFrame(x, columns=list(names if columns is None else columns))
