"""Policy that decides when samples are sorted into classes: it changes the cost of a run, not the result."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from biasfree.data import Dataset
from biasfree.dynamics.field._layers import Params, augmented
from biasfree.dynamics.field._objective import Form, Physics, Samples, view_of
from biasfree.dynamics.field.classes._certificate import Classes
from biasfree.dynamics.field.classes._clusters import sort_by_clusters
from biasfree.dynamics.field.classes._directions import directions
from biasfree.dynamics.field.classes._moments import CROWD, ClassMoments
from biasfree.dynamics.field.classes._patterns import sort
from biasfree.networks import Network

#: Activations below which an evaluation takes microseconds, with classes or without.
LEAST_ELEMENTS = 2**16
#: Evaluations between two attempts to find classes, at first and at most; an attempt costs one to four.
PATIENCE = 64, 512
#: Assumed turn of a neuron's direction per evaluation, before it is measured.
UNKNOWN_SPEED = 1e-4


class Grouping:
    """The view of one run; its classes are renewed as patterns change."""

    def __init__(self, form: Form, network: Network, data: Dataset, physics: Physics):
        view = view_of(form, network, data)
        self._leak = float(physics.leak)
        self._moments: ClassMoments | None = None
        self._x: Any = None
        if isinstance(view, Samples) and _is_crowded(form, network, view):
            self._moments = ClassMoments(network, view, mirrored=form.kind == "pairs")
            view = view._replace(classes=self._moments.no_classes())
            self._x = view.x
        self.view: Any = jax.device_put(view)
        self.by_class = False
        self._marked: Params | None = None
        self._since, self._patience = 0, 0

    @property
    def sorts(self) -> bool:
        """Whether the samples of this run may be sorted at all."""
        return self._moments is not None

    @property
    def due(self) -> float:
        """Evaluations until the next attempt to sort: a count and not a time, so that a
        repeated run gives the same bits."""
        return np.inf if self._moments is None or self.by_class else max(self._patience - self._since, 1)

    def note(self, params: Params, evaluations: int, *, certified: bool = True) -> None:
        """Report that the run reached `params`; `certified` is False where its classes no longer hold."""
        if self._moments is None:
            return
        self._since += evaluations
        if not certified and not self._since:
            self._take(None, params)  # new classes that did not hold for a single step
        elif not certified or (not self.by_class and self._since >= self._patience):
            self._take(self._sorted(params), params)

    def _sorted(self, params: Params) -> Classes | None:
        """The classes at a state: by clusters of neurons if there are few, or by all patterns."""
        moments = self._moments
        assert moments is not None, "a run without moments has no classes to renew"
        turned = (
            _turned(self._marked, params) / self._since if self._marked and self._since else UNKNOWN_SPEED
        )
        found = None
        if len(params.weights) == 2:
            rows = np.asarray(directions(augmented(params, 0)))
            given = (rows, moments.inputs, moments.sizes, self._leak)
            clusters = sort_by_clusters(*given, mirrored=moments.mirrored)
            found = clusters and moments.classes(clusters, turned)
        if found is None:
            patterns = sort(params, self._x, moments.real, self._leak, mirrored=moments.mirrored)
            found = moments.classes(patterns, turned)
        return found

    def _take(self, found: Classes | None, params: Params) -> None:
        """Use these classes from now on, or none."""
        moments = self._moments
        assert moments is not None, "a run without moments has no classes to renew"
        if found is not None or self.by_class:
            classes = moments.no_classes() if found is None else found
            self.view = self.view._replace(classes=jax.device_put(classes))
        self.by_class = found is not None
        self._patience = (
            PATIENCE[0] if self.by_class else max(PATIENCE[0], min(2 * self._patience, PATIENCE[1]))
        )
        self._marked, self._since = params, 0


def _is_crowded(form: Form, network: Network, view: Samples) -> bool:
    """Whether classes may save time, and the loss depends on moments."""
    samples = int(np.count_nonzero(view.share))
    inputs = network.sizes[0] + (network.biases is not None)
    enough = samples >= 2 * CROWD * inputs and network.depth > 1
    return form.loss == "square" and enough and samples * max(network.sizes[1:]) >= LEAST_ELEMENTS


def _turned(before: Params, after: Params) -> float:
    """The largest change in direction of a hidden neuron's weights, summed over layers."""
    layers = zip(before.weights[:-1], after.weights[:-1], strict=True)
    far = (np.linalg.norm(np.asarray(directions(a) - directions(b)), axis=1).max() for a, b in layers)
    return float(sum(far))
