"""The fully connected network, by default without biases."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from biasfree.arrays import Float, as_array, checked_leak, is_tensor, real, reduce_to_fields, row_norms
from biasfree.files import contents, load_npz, numbered, save_npz, single
from biasfree.threads import one_blas_thread

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, eq=False)
class Network:
    """A fully connected network f(x) = W_L σ(… σ(W_1 x)), σ(z) = max(z, αz), σ′(0) = α.

    `weights` are (W_1, …, W_L), each (outputs, inputs); `leak` is α: 0 is ReLU, 1 is linear. `biases` are one
    vector per layer, for comparison only: the theory is about networks without biases. All arrays are copied
    and made read-only.
    """

    weights: tuple[Float[np.ndarray, "_ _"], ...]
    leak: float = 0.0
    biases: tuple[Float[np.ndarray, "_"], ...] | None = None

    if TYPE_CHECKING:  # whatever NumPy reads as arrays is taken

        def __init__(
            self, weights: Iterable[ArrayLike], leak: float = 0.0, biases: Iterable[ArrayLike] | None = None
        ) -> None: ...

    def __post_init__(self):
        leak = checked_leak(self.leak)
        weights = tuple(real(f"W_{i}", w) for i, w in enumerate(_layers("weights", self.weights), 1))
        if not weights:
            raise ValueError("a network needs at least one layer, got no weights.")
        for i, w in enumerate(weights, 1):
            if w.ndim != 2 or 0 in w.shape:
                raise ValueError(f"W_{i} must have shape (outputs, inputs), got {w.shape}.")
        for i, (w, above) in enumerate(pairwise(weights), 1):
            if w.shape[0] != above.shape[1]:
                raise ValueError(
                    f"W_{i} has {w.shape[0]} outputs but W_{i + 1} takes {above.shape[1]} inputs; "
                    "weights are (outputs, inputs) from the first layer to the last."
                )
        object.__setattr__(self, "leak", leak)
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "biases", _checked_biases(self.biases, weights))

    __reduce__ = reduce_to_fields

    def __call__(self, x: Any) -> Any:
        """f(x): (P, D) → (P,) for one output, else (P, K); without the leading axis for one sample (D,)."""
        x = real("x", x)
        if x.ndim not in (1, 2) or x.shape[-1] != self.sizes[0]:
            raise ValueError(f"x must have shape (samples, {self.sizes[0]}), got {x.shape}.")
        h = self.preactivations(x)[-1]
        h = h[..., 0] if self.sizes[-1] == 1 else h
        return float(h) if h.ndim == 0 else h

    @one_blas_thread
    def preactivations(self, x: Float[np.ndarray, "*P D"]) -> tuple[Float[np.ndarray, "*P _"], ...]:
        """h_1 = W_1 x, h_l = W_l σ(h_{l−1}) for every layer; the last is f(x) with an output axis."""
        found: list[np.ndarray] = []
        for i, w in enumerate(self.weights):
            below = np.where(found[-1] > 0, found[-1], self.leak * found[-1]) if found else x
            found.append(below @ w.T + (0.0 if self.biases is None else self.biases[i]))
        return tuple(found)

    def __repr__(self) -> str:
        biased = "" if self.biases is None else ", with biases"
        return f"Network({'→'.join(map(str, self.sizes))}, leak={self.leak:g}{biased})"

    @property
    def sizes(self) -> tuple[int, ...]:
        """(D, width, …, K): the numbers of inputs, of neurons per hidden layer, and of outputs."""
        return (self.weights[0].shape[1], *(w.shape[0] for w in self.weights))

    @property
    def depth(self) -> int:
        """L, the number of weight matrices."""
        return len(self.weights)

    @property
    def norms(self) -> Float[np.ndarray, "L"]:
        """|W_l|_F of every layer."""
        return np.array([_norm(w) for w in self.weights])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the network to a `.npz` file that `Network.load` reads."""
        layers = {f"W{i}": w for i, w in enumerate(self.weights, 1)}
        biases = {f"b{i}": b for i, b in enumerate(self.biases or (), 1)}
        save_npz(path, {"leak": self.leak, **layers, **biases})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Network:
        """Read a network that `Network.save` wrote; nothing is unpickled."""
        arrays = load_npz(path, needs=("leak", "W1"))
        weights = numbered(path, arrays, "W")
        biases = numbered(path, arrays, "b")
        leak = single(path, arrays, "leak")
        with contents(path, "a network"):
            return cls(weights, leak=leak, biases=biases or None)

    @classmethod
    def from_torch(cls, model: torch.nn.Module) -> Network:
        """Convert a PyTorch model of Linear layers with ReLU or LeakyReLU between them."""
        from biasfree.networks._pytorch import network_of

        return network_of(model)

    def to_torch(self) -> torch.nn.Sequential:
        """The same network as a float64 `torch.nn.Sequential` of Linear and (Leaky)ReLU modules."""
        from biasfree.networks._pytorch import module_of

        return module_of(self)


def _layers(name: str, layers: Any) -> Sequence[Any]:
    """The arrays of all layers as a tuple; a single matrix is refused, not read as a list of rows."""
    if is_tensor(layers) or (isinstance(layers, np.ndarray) and layers.ndim < 3):
        layers = as_array(name, layers)
        got = f"one array of shape {layers.shape}; a network of one layer is bf.Network((W_1,))"
    elif isinstance(layers, Iterable) and not isinstance(layers, str | bytes | Mapping | Set):
        return tuple(layers)
    else:
        got = f"a {type(layers).__name__}"
    raise ValueError(
        f"{name} must be a tuple of arrays, one per layer from the first to the last, got {got}."
    )


def _norm(w: np.ndarray) -> float:
    """|w|_F, without under- or overflow of squares."""
    size = float(np.linalg.norm(w))
    return size if 1e-150 < size < 1e150 else float(row_norms(w.reshape(1, -1))[0])


def _checked_biases(
    biases: Sequence[Any] | None, weights: tuple[np.ndarray, ...]
) -> tuple[np.ndarray, ...] | None:
    if biases is None:
        return None
    checked = tuple(real(f"b_{i}", b) for i, b in enumerate(_layers("biases", biases), 1))
    if [b.shape for b in checked] != [(w.shape[0],) for w in weights]:
        raise ValueError(
            f"biases must be one vector per layer, of lengths {[w.shape[0] for w in weights]}, "
            f"got shapes {[b.shape for b in checked]}."
        )
    return checked
