"""The equivalence under other optimizers: momentum, mini-batches of mirror pairs, Adam and AdamW."""

from __future__ import annotations

import numpy as np

from biasfree.arguments import public
from biasfree.arrays import checked_leak, finite
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.theory.hypotheses import MIRROR, NO_BIASES, TWO_LAYERS, Hypothesis, check, result
from biasfree.theory.symmetric._equivalence import linear_twin

#: The power of c by which the hyperparameters of the linear twin exceed those of the network; 0 is the same.
_POWERS: dict[str, dict[str, float]] = {
    "sgd": {"learning_rate": 1.0, "momentum": 0.0, "l2": -1.0},
    "adam": {"learning_rate": 0.5, "b1": 0.0, "b2": 0.0, "eps": -0.5},
    "adamw": {"learning_rate": 0.5, "b1": 0.0, "b2": 0.0, "eps": -0.5, "weight_decay": -0.5},
}
#: What optax takes where nothing is given, of those that the twin must change.
_DEFAULTS: dict[str, dict[str, float]] = {
    "sgd": {},
    "adam": {"eps": 1e-8},
    "adamw": {"eps": 1e-8, "weight_decay": 1e-4},
}


def _lonely_share(network: Network, data: Dataset) -> float:  # noqa: ARG001
    """The share of neurons (w, a) without an opposite (−w, −a) of their own."""
    if network.leak == 1:
        return 0.0
    if network.depth != 2:
        return np.nan
    rows = np.hstack([network.weights[0], network.weights[1].T])
    rows = rows[rows.any(axis=1)]
    ordered, mirrored = (part[np.lexsort(part.T[::-1])] for part in (rows, -rows))
    return float(np.mean((ordered != mirrored).any(axis=1))) if len(rows) else 0.0


OPPOSITE = Hypothesis(
    "opposite",
    "neurons in opposite pairs, (w, a) and (−w, −a),",
    "the share of neurons that differ from the opposite of another one",
    _lonely_share,
    "initialize with bf.networks.opposite",
    tolerance=0.0,
)
ASSUMES = (NO_BIASES, TWO_LAYERS, MIRROR, OPPOSITE)


@public
@result("learns as its linear twin under momentum, batches of mirror pairs, Adam and AdamW", lambda: ASSUMES)
def optimizer_twin(
    network: Network, data: Dataset, optimizer: str, **hyperparameters: float
) -> tuple[Network, dict[str, float]]:
    """The linear network that learns as `network` does with an optimizer, and its hyperparameters.

    Opposite pairs (w, a), (−w, −a) stay opposite under every optimizer that treats coordinates alike and is
    odd in gradient, weights and state jointly, so that f stays linear and W_lin = √c·W after every step. The
    hyperparameters are those of `twin_hyperparameters`. Batches must consist of whole mirror pairs.

    Assumes: two layers, no biases; every sample has its mirror image (mirror_tolerance=0); neurons in
    opposite pairs (opposite_tolerance=0); no sample on a hyperplane. Descent and momentum also keep networks
    of rank one (Assumption 4) on their twins; Adam does not.
    Reference: derived here; for descent [ZSL25] Thm. 5 (TMLR 8).
    """
    tolerances = {
        name: hyperparameters.pop(name) for name in [*hyperparameters] if name.endswith("_tolerance")
    }
    check(ASSUMES, network, data, tolerances)
    return linear_twin(network), twin_hyperparameters(optimizer, network.leak, **hyperparameters)


@public
def twin_hyperparameters(optimizer: str, leak: float, **hyperparameters: float) -> dict[str, float]:
    """The hyperparameters of the linear twin of a (leaky) ReLU network, c = (1+α)/2.

    "sgd" (momentum, Nesterov too): learning_rate·c, l2/c. "adam": learning_rate·√c, eps/√c, since Adam does
    not see the scale of the gradient. "adamw" also: weight_decay/√c, so that the decay per step is the same.
    Everything else stays: momentum, b1, b2. Names are those of optax, and `l2` that of `bf.optimize`. The
    defaults of optax, eps=1e-8 and weight_decay=1e-4, change too: they are returned even if not given.

    Reference: derived here.
    """
    if not isinstance(optimizer, str) or optimizer not in _POWERS:
        raise ValueError(
            f"optimizer must be one of {', '.join(_POWERS)}, got {optimizer!r}; descent with momentum, "
            'Nesterov\'s too, is "sgd" with momentum=.'
        )
    powers = _POWERS[optimizer]
    c = (1 + checked_leak(leak)) / 2
    if unknown := [name for name in hyperparameters if name not in powers]:
        raise ValueError(
            f"nothing is known of {', '.join(unknown)} under {optimizer}; known are {', '.join(powers)}."
        )
    values = _DEFAULTS[optimizer] | hyperparameters
    return {name: finite(name, value) * c ** powers[name] for name, value in values.items()}
