"""The model of a diagnosis, as a function of samples and, if possible, as a network."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from biasfree.arrays import Float, as_array, real
from biasfree.data import Dataset
from biasfree.diagnostics.advice._samples import Samples
from biasfree.diagnostics.advice._task import Reading, Task, task_of
from biasfree.networks import Network, function_of, is_module, network_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_NUMBERS = 2**20  # numbers per call of a function
_BATCH = 2**18  # numbers per call of a PyTorch module, whose activations may be much larger than its inputs
_METHODS = {
    "predict_proba": Reading.PROBABILITIES,
    "decision_function": Reading.LOGITS,
    "predict": Reading.LABELS,
}
_SLOPES = {"relu": 0.0, "identity": 1.0}


@dataclass(frozen=True, eq=False)
class Subject:
    """A model: its function of flat samples (P, D), its network if it can be converted, and notes.

    `kind` says what its outputs are, None if that is not known; `classes` are their classes, if known.
    """

    name: str
    function: Callable[[ArrayLike], Float[np.ndarray, "P K"]]
    network: Network | None
    notes: tuple[str, ...] = ()
    kind: Reading | None = None
    classes: tuple[Any, ...] | None = None


def subject_of(
    model: Any, samples: Samples | None, *, leak: float | None = None, output: int | str | None = None
) -> Subject:
    """The subject for a Network, a PyTorch module, an estimator, a list of weights or any function."""
    subject = _read(model, samples, leak, output)
    if leak is None:
        return subject
    if subject.network is None:
        raise ValueError(
            f"only the outputs of {subject.name} are measured, so leak={leak:g} has no meaning; leave it out."
        )
    if subject.network.leak != leak:
        raise ValueError(
            f"the leak of the model is {subject.network.leak:g}, but leak={leak:g} was given; leave it out."
        )
    return subject


def _read(model: Any, samples: Samples | None, leak: float | None, output: int | str | None) -> Subject:
    if is_module(model):
        return _of_module(model, samples, output)
    estimator = hasattr(model, "predict") and hasattr(model, "fit") and not isinstance(model, type)
    weights = isinstance(model, Sequence) and not isinstance(model, str)
    if output is not None and (isinstance(model, Network) or estimator or weights):
        raise ValueError(
            f"a {type(model).__name__} returns one array, so output={output!r} has no meaning; leave it out."
        )
    if isinstance(model, Network):
        return _of_network(model)
    if estimator:
        return _of_estimator(model, samples)
    if weights:
        return _of_weights(model, leak)
    if callable(model) and not isinstance(model, type):
        name = getattr(model, "__name__", type(model).__name__)
        name = "the function" if name == "<lambda>" else name
        note = f"only the outputs of {name} are measured: it is a function without known weights."
        return Subject(name, _shaped(model, samples, output, _NUMBERS), None, (note,))
    raise ValueError(
        "a model must be a bf.Network, a torch.nn.Module, a scikit-learn estimator, a list of weights "
        f"(W_1, …, W_L) or a function of the samples, got "
        f"{model if isinstance(model, type) else f'a {type(model).__name__}'}; pass data as data=."
    )


def _of_network(network: Network, *notes: str) -> Subject:
    return Subject(repr(network), network, network, notes)


def _of_estimator(model: Any, samples: Samples | None) -> Subject:
    """An estimator or a pipeline of scikit-learn, or another model with its methods."""
    name, classes = type(model).__name__, getattr(model, "classes_", None)
    if isinstance(classes, list):
        raise ValueError(f"{name} predicts several labels per sample; diagnose one of them.")
    classes = None if classes is None else tuple(np.asarray(classes).tolist())
    network = _network_of_estimator(model)
    if network is not None:
        kind = Reading.NUMBERS if classes is None else Reading.LOGITS
        return Subject(name, network, network, (), kind, classes)
    method = "predict" if classes is None else next(one for one in _METHODS if hasattr(model, one))
    kind = Reading.NUMBERS if classes is None else _METHODS[method]
    called, framed = getattr(model, method), _framed(model, None if samples is None else samples.columns)

    def function(x: np.ndarray) -> Any:
        found = np.asarray(called(framed(x)))
        return np.equal.outer(found, np.asarray(classes)).astype(float) if kind is Reading.LABELS else found

    note = f"only the outputs of {name} are measured: it has no layers to read."
    return Subject(name, _shaped(function, samples, None, _NUMBERS), None, (note,), kind, classes)


def _network_of_estimator(model: Any) -> Network | None:
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


def _of_weights(weights: Sequence[Any], leak: float | None) -> Subject:
    arrays = tuple(as_array(f"W_{i}", w) for i, w in enumerate(weights, 1))
    if len(arrays) == 2 and arrays[0].ndim >= 2 and arrays[1].ndim == 1:
        raise ValueError("a matrix and a vector are not weights; pass data (x, y) as data=(x, y).")
    if leak is None:
        return _of_network(Network(arrays), "the activation is not given: leak 0 (ReLU) is assumed.")
    return _of_network(Network(arrays, leak=leak))


def _of_module(model: Any, samples: Samples | None, output: int | str | None) -> Subject:
    """A module as a network, if that has the same outputs; otherwise as a function."""
    name = type(model).__name__
    function = _shaped(function_of(model, lambda found: picked(found, output)), samples, None, _BATCH)
    try:
        network = network_of(model)
        if samples is not None and samples.x.shape[1] == network.sizes[0]:
            _check_same(network, function, samples.x[:20])
    except ValueError as error:
        note = f"only the outputs of {name} are measured, not its layers: {error}"
        return Subject(name, function, None, (note,))
    return _of_network(network)


def _check_same(network: Network, function: Callable[[ArrayLike], np.ndarray], x: np.ndarray) -> None:
    """Raise ValueError if the module differs from the network of its layers, as without a Flatten."""
    expected, found = network.preactivations(x)[-1], function(x)
    # half precision has three digits, and sums of many terms lose one of them
    if found.shape != expected.shape or not np.allclose(
        found, expected, rtol=0.05, atol=0.05 * np.abs(expected).max()
    ):
        raise ValueError("its outputs differ from those of its layers, as happens without a Flatten.")


class WrongOutput(ValueError):
    """The entry of a model's outputs that was asked for is missing, or none was asked for."""


def picked(found: Any, output: int | str | None) -> Any:
    """The outputs in what a model returns: an array, or the entry `output` of a tuple or a dict."""
    entries: dict[Any, Any] = {}
    if isinstance(found, Mapping):
        entries = dict(found)
    elif isinstance(found, tuple | list) and found and all(getattr(one, "ndim", 0) for one in found):
        entries = {**dict(enumerate(found)), **dict(zip(getattr(found, "_fields", ()), found, strict=False))}
    elif output is not None:
        raise WrongOutput(f"the model returns one array, so output={output!r} has no meaning; leave it out.")
    if not entries:
        return found
    named = ", ".join(map(repr, entries))
    if output is None:
        if len(found) == 1:
            return next(iter(entries.values()))
        kind = "dict" if isinstance(found, Mapping) else "tuple"
        raise WrongOutput(f"the model returns a {kind} with the entries {named}; choose one with output=.")
    if output not in entries:
        raise WrongOutput(f"the model returns no output {output!r}; its entries are {named}.")
    return entries[output]


def _shaped(
    function: Callable[[Any], Any], samples: Samples | None, output: int | str | None, numbers: int
) -> Callable[[ArrayLike], Float[np.ndarray, "P K"]]:
    """The function of flat samples, with an output axis, called for `numbers` numbers at a time."""
    shape = None if samples is None else samples.shape

    def flat(x: ArrayLike) -> Float[np.ndarray, "P K"]:
        x = np.array(real("x", x))  # a copy: the model may write to its argument
        rows = max(1, numbers // max(1, x[0].size)) if len(x) else 1
        return np.concatenate(
            [_called(function, x[i : i + rows], shape, output) for i in range(0, len(x), rows)]
        )

    return flat


def _called(
    function: Callable[[Any], Any], x: np.ndarray, shape: tuple[int, ...] | None, output: int | str | None
) -> np.ndarray:
    sample = shape or x.shape[1:]
    try:
        found = function(x.reshape(len(x), *sample))
    except WrongOutput:
        raise
    except Exception as error:  # a user's model may raise anything
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise ValueError(f"the model fails on samples of shape {tuple(sample)}: {reason}") from error
    array = as_array("the model's outputs", picked(found, output))
    if array.dtype.kind == "V" and "float" in array.dtype.name:  # bfloat16 of JAX
        array = array.astype(np.float64)
    if array.dtype == object or array.ndim == 0 or len(array) != len(x):
        raise ValueError(
            "the model must return one output or row of outputs per sample, got "
            f"{type(array).__name__} of shape {array.shape} for {len(x)} samples."
        )
    return real("the model's outputs", array.reshape(len(x), -1))


def targets_for(
    subject: Subject | None, samples: Samples, *, task: str | None, classes: Sequence[Any] | None
) -> tuple[Task, Dataset]:
    """What the targets are, and the samples with their numbers; the outputs of the model must fit them."""
    outputs = None if subject is None else _outputs(subject, samples)
    known = subject.classes if classes is None and subject is not None else classes
    kind = None if subject is None else subject.kind
    found = task_of(samples.y, outputs=outputs, kind=kind, known=known, task=task)
    if subject is not None:
        _check_outputs(subject.name, samples, found, outputs)
    return found, found.dataset(samples.x, outputs)


def _outputs(subject: Subject, samples: Samples) -> int:
    if subject.network is not None:
        return subject.network.sizes[-1]
    return subject.function(samples.x[:2]).shape[1]


def _check_outputs(name: str, samples: Samples, found: Task, outputs: int | None) -> None:
    if found.numbers is not None and found.numbers.shape[1] != outputs:
        if found.numbers.shape[1] == 1 and samples.y.dtype.kind in "iu":
            raise ValueError(
                f"{name} has {outputs} outputs, but the labels go from {samples.y.min()} to "
                f"{samples.y.max()}; labels must be below the number of outputs, or pass classes=."
            )
        raise ValueError(
            f"{name} has {outputs} outputs, but the data have {found.numbers.shape[1]} targets per sample."
        )
    if found.classes is not None:
        count = len(found.classes)
        if outputs not in ((1, 2) if count == 2 else (count,)):
            raise ValueError(f"{name} has {outputs} outputs, but y has {count} classes.")
