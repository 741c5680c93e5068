"""A hypothesis: a named condition that measures its own defect, and the error raised where it fails.

A function checks a tuple of hypotheses, `ASSUMES`, and `@result` registers the same tuple for `coverage`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from biasfree.caching import cached_per_object
from biasfree.data import Dataset, Population
from biasfree.networks import Network
from biasfree.ties import side

_ROUNDINGS = 64  # of a defect, which is relative to 1


class AssumptionError(ValueError):
    """A hypothesis of a result does not hold for the given network and data."""

    def __init__(self, hypothesis: str, what: str, *, defect: float, tolerance: float, remedy: str):
        self.hypothesis = hypothesis
        self.defect = float(defect)
        self.tolerance = float(tolerance)
        super().__init__(
            f"this result assumes {hypothesis.rstrip(',')}, but {what} is {defect:.3g} "
            f"(tolerated: at most {tolerance:.3g}); {remedy}."
        )


@dataclass(frozen=True)
class Hypothesis:
    """A condition that a result assumes: `defect` is 0 where it holds exactly, and NaN where it is undefined.

    `key` names the argument `{key}_tolerance`, whose default is `tolerance`. A hypothesis without a tolerance
    cannot be relaxed: without it the formulas are undefined.
    """

    key: str
    name: str
    measures: str
    defect: Callable[[Any, Any], float]
    remedy: str
    tolerance: float | None = None

    def measured(self, network: Network | None, data: Dataset | Population | None) -> float:
        """The defect, measured once for these objects; infinity and NaN give no warning."""
        return _measured(self.defect, network, data)

    def check(
        self, network: Network | None, data: Dataset | Population | None, tolerance: float | None = None
    ) -> float:
        """The measured defect; an `AssumptionError` if it exceeds the tolerance.

        A hypothesis on the data alone needs no network, and one on the network no data.
        """
        tolerance = self.tolerance or 0.0 if tolerance is None else tolerance
        defect = self.measured(network, data)
        if compared(defect, tolerance) > 0:
            raise AssumptionError(
                self.name, self.measures, defect=defect, tolerance=tolerance, remedy=self.remedy
            )
        return defect


@cached_per_object
def _measured(
    defect: Callable[[Any, Any], float], network: Network | None, data: Dataset | Population | None
) -> float:
    with np.errstate(all="ignore"):
        return float(defect(network, data))


def compared(defect: float, tolerance: float) -> int:
    """−1 for a defect below a tolerance, 1 above, 0 for a tie, which holds; that of 0 has no rounding."""
    if tolerance == 0:
        return -1 if defect <= 0 else 1
    return side(defect, tolerance, terms=_ROUNDINGS, size=1.0)


def check(
    hypotheses: Sequence[Hypothesis],
    network: Network,
    data: Dataset | Population | None,
    tolerances: Mapping[str, float],
) -> dict[str, float]:
    """Check every hypothesis, with tolerances given as `{key}_tolerance`; returns the defects by key."""
    known = {f"{h.key}_tolerance": h.tolerance for h in hypotheses if h.tolerance is not None}
    for name in tolerances:
        if name == "loss":
            raise ValueError(
                f"this result holds for the square loss, got loss={tolerances[name]!r}; leave loss= out, or "
                "use bf.theory.reduced_flow or bf.gradient_flow, which take other losses."
            )
        if name not in known:
            defaults = ", ".join(f"{name}={value:g}" for name, value in known.items())
            raise TypeError(f"got an unexpected argument {name!r}; the tolerances here are {defaults}.")
    if data is not None:
        check_sizes(network, data)
    return {h.key: h.check(network, data, tolerances.get(f"{h.key}_tolerance")) for h in hypotheses}


def check_sizes(network: Network, data: Dataset | Population) -> None:
    """Refuse data whose dimensions differ from those of the network."""
    if (data.dimensions, data.outputs) != (network.sizes[0], network.sizes[-1]):
        raise ValueError(
            f"the network takes {network.sizes[0]} inputs and gives {network.sizes[-1]} outputs, but the "
            f"data have {data.dimensions} dimensions and {data.outputs} outputs; match their sizes."
        )
