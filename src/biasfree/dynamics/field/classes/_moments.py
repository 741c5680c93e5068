"""Moments of activation classes, updated by the samples that change their class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from biasfree.arrays import row_norms
from biasfree.dynamics.field._objective import Samples
from biasfree.dynamics.field.classes._certificate import Classes
from biasfree.dynamics.field.classes._clusters import MOST_CLUSTERS, Clusters
from biasfree.dynamics.field.classes._near import Near
from biasfree.dynamics.field.classes._patterns import MOST_PATTERNS, Sorted
from biasfree.networks import Network

if TYPE_CHECKING:
    from jaxtyping import Bool

#: The least number of samples in a class, per input dimension.
CROWD = 4
#: Samples per chunk of the remainder; its room as a share of all samples; and the most samples it may hold.
REMAINDER_ROWS, REMAINDER_SHARE, MOST_REMAINING = 32, 0.5, 2**14
#: The most samples that are evaluated through clusters of neurons, and the most of these inside the spread of
#: a cluster: more are evaluated one by one until samples are sorted again.
MOST_NEAR, MOST_INSIDE = 2**11, 2**8
#: The cost of an evaluation by class, relative to one sample by sample, up to which classes are used.
WORTH = 0.7


class ClassMoments:
    """The samples of a run, the class of each, and the moments of every class."""

    def __init__(self, network: Network, view: Samples, *, mirrored: bool):
        self.mirrored, self._view = mirrored, view
        self.real = view.share.ravel() > 0
        self._x, self._y, self._share = (a.reshape(self.real.size, *a.shape[2:])[self.real] for a in view[:3])
        unit = np.ones((len(self._x), int(network.biases is not None)))
        self.inputs = np.hstack([self._x, unit])
        self.sizes = row_norms(self.inputs)
        weighed = self._share[:, None] * self.inputs
        self.best = (self._y.T @ weighed) @ np.linalg.pinv(self.inputs.T @ weighed, hermitian=True)
        self._missed = self._y - self.inputs @ self.best.T
        self._names: dict[bytes, int] = {}
        self._moments: list[list[Any]] = []
        self._class = np.full(len(self._x), -1)
        self._hidden = network.sizes[1:-1]

    def no_classes(self) -> Classes:
        """Arrays for classes, none of them in use: shapes that never change are compiled once."""
        m, (k, d) = MOST_PATTERNS * (1 + self.mirrored), self.best.shape
        room = min(int(REMAINDER_SHARE * len(self._x)), MOST_REMAINING)
        chunks = -(-room // REMAINDER_ROWS)
        x, y, share = (np.zeros((chunks, REMAINDER_ROWS, *a.shape[2:])) for a in self._view[:3])
        deeper = tuple(np.zeros((m, h, d)) for h in self._hidden[1:])
        return Classes(
            count=np.int64(0),
            nearest=np.float64(0),
            reach=np.zeros(m),
            gates=tuple(np.zeros((m, h)) for h in self._hidden),
            directions=(np.zeros((self._hidden[0], d)), *deeper),
            best=self.best,
            sigma=np.zeros((m, d, d)),
            left=np.zeros((m, k, d)),
            floor=np.zeros(m),
            near=self._no_clusters() if len(self._hidden) == 1 else None,
            remainder=Samples(x, y, share),
            chunks=np.int64(0),
        )

    def _no_clusters(self) -> Near:
        (k, d), (h,), n = self.best.shape, self._hidden, self._room
        return Near(
            count=np.int64(0),
            cluster=np.zeros(h, np.int64),
            sign=np.zeros(h),
            centers=np.zeros((MOST_CLUSTERS, d)),
            spread=np.zeros(MOST_CLUSTERS),
            x=np.zeros((n, d)),
            columns=np.zeros((d, n)),
            y=np.zeros((n, k)),
            share=np.zeros(n),
            size=np.zeros(n),
        )

    @property
    def _room(self) -> int:
        """The number of samples near clusters that are evaluated through them."""
        return min(int(REMAINDER_SHARE * len(self._x)), MOST_NEAR)

    def classes(self, found: Sorted, speed: float) -> Classes | None:
        """The classes of samples sorted by pattern, for neurons that turn by `speed` per evaluation; None if
        classes would save nothing."""
        kept = self._kept(found, speed)
        classes = self.no_classes()
        if kept is None or np.count_nonzero(~kept) > classes.remainder.share.size:
            return None
        present = np.unique(found.pattern[kept])
        lookup = np.full(len(found.gates[0]) + 1, -1)
        lookup[present] = self._named(found, present)
        self._move(np.where(kept, lookup[found.pattern], -1))
        # Patterns of equal gates, as all are where the leak is 1, are one class.
        names, first = np.unique(lookup[present], return_index=True)
        reach = [min(found.margin[self._class == name].min(), 1.0) for name in names]
        self._fill(classes, found, present[first], names.tolist(), reach)
        remains, near = np.flatnonzero(~kept), classes.near
        if found.clusters is not None and near is not None:
            remains = remains[np.argsort(-found.margin[remains], kind="stable")]
            inside = np.count_nonzero(found.margin[remains] <= 0)
            most = len(remains) - (inside if inside > MOST_INSIDE else 0)
            chosen, remains = np.split(remains, [min(most, self._room)])
            near = self._filled(near, found.clusters, chosen)
        chunks = self._fill_remainder(classes.remainder, remains)
        count = np.int64(len(names) * (1 + self.mirrored))
        return classes._replace(count=count, nearest=np.float64(min(reach)), near=near, chunks=chunks)

    def _kept(self, found: Sorted, speed: float) -> Bool[np.ndarray, "P"] | None:
        """The samples that go into classes: those far enough from every kink that sorting is rare.

        The cost of an evaluation, in samples: those evaluated one by one, D per class, and the cost of
        sorting divided by the life of a certificate, margin/speed evaluations. Samples outside the spread of
        clusters cost almost nothing, as many as there is room for.
        """
        total, inputs = self.inputs.shape
        counts = np.bincount(found.pattern[found.pattern >= 0], minlength=1)
        crowded = np.append(counts >= CROWD * inputs, False)
        margin = np.where(crowded[np.minimum(found.pattern, len(crowded) - 1)], found.margin, -1.0)
        ranked = np.sort(margin)
        loose = int(np.searchsorted(ranked, 0.0, side="right"))
        remainders = np.arange(
            loose, min(total, max(loose + 1, int(REMAINDER_SHARE * total))), REMAINDER_ROWS
        )
        if not len(remainders):
            return None
        free = (self._room if found.clusters else 0) + (loose if loose > MOST_INSIDE else 0)
        cost = loose + np.maximum(remainders - max(free, loose), 0) + inputs * np.count_nonzero(crowded)
        cost = cost + found.cost * total * speed / ranked[remainders]
        best = int(np.argmin(cost))
        return margin >= ranked[remainders[best]] if cost[best] <= WORTH * total else None

    def _named(self, found: Sorted, used: np.ndarray) -> list[int]:
        """A number for each of these patterns: the same as before, if it had one."""
        numbers = []
        for pattern in used:
            name = b"".join((gates[pattern] == 1).tobytes() for gates in found.gates)
            if name not in self._names:
                self._names[name] = len(self._names)
                k, d = self.best.shape
                self._moments.append([np.zeros((d, d)), np.zeros((k, d)), 0.0])
            numbers.append(self._names[name])
        return numbers

    def _move(self, classes: np.ndarray) -> None:
        """Move samples between classes: subtract their moments from the old class, add them to the new."""
        moved = np.flatnonzero(classes != self._class)
        for sign, of in ((-1.0, self._class[moved]), (1.0, classes[moved])):
            for name in np.unique(of[of >= 0]):
                self._moments[name] = self._sum(self._moments[name], moved[of == name], sign)
        self._class = classes

    def _sum(self, moments: list[Any], samples: np.ndarray, sign: float) -> list[Any]:
        """Moments plus or minus those of some samples."""
        x, missed, share = self.inputs[samples], self._missed[samples], sign * self._share[samples]
        weighed = share[:, None] * x
        more = (x.T @ weighed, missed.T @ weighed, np.sum(share[:, None] * missed**2) / 2)
        return [a + b for a, b in zip(moments, more, strict=True)]

    def _fill(
        self, classes: Classes, found: Sorted, used: np.ndarray, names: list[int], reach: list[float]
    ) -> None:
        """Write patterns into the arrays: on mirrored data two classes each, x and −x, of equal moments."""
        sides = (found.gates, found.mirrored) if self.mirrored else (found.gates,)
        classes.directions[0][:] = found.directions[0][used[0]]
        for i, (pattern, name) in enumerate(zip(used, names, strict=True)):
            for j, gates in enumerate(sides):
                slot = i * len(sides) + j
                classes.reach[slot] = reach[i]
                classes.sigma[slot], classes.left[slot], classes.floor[slot] = self._moments[name]
                for layer in range(len(gates)):
                    classes.gates[layer][slot] = gates[layer][pattern]
                    if layer:
                        classes.directions[layer][slot] = found.directions[layer][pattern]

    def _filled(self, near: Near, clusters: Clusters, samples: np.ndarray) -> Near:
        """Write clusters, and the samples near them, into the arrays."""
        for space, values in (
            (near.centers, clusters.centers),
            (near.spread, clusters.spread),
            (near.x, self.inputs[samples]),
            (near.y, self._y[samples]),
            (near.share, self._share[samples]),
            (near.size, self.sizes[samples]),
        ):
            space[: len(values)] = values
        return near._replace(
            count=np.int64(len(clusters.centers)),
            cluster=clusters.cluster,
            sign=clusters.sign,
            columns=np.ascontiguousarray(near.x.T),
        )

    def _fill_remainder(self, room: Samples, samples: np.ndarray) -> np.int64:
        """Write samples into the array for the remainder; returns the number of chunks they fill."""
        count = len(samples)
        for space, values in zip(room[:3], (self._x, self._y, self._share), strict=True):
            space.reshape(-1, *space.shape[2:])[:count] = values[samples]
        return np.int64(-(-count // REMAINDER_ROWS))
