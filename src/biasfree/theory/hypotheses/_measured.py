"""Defects already measured, remembered as long as their network and dataset exist.

Networks and datasets never change, so a defect is a constant of the pair. All references are weak: nothing is
kept alive. Every operation on the tables is a single one, so threads need no lock; two that measure the same
defect at the same time get the same number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from biasfree.data import Dataset, Population
from biasfree.networks import Network

Measure = Callable[[Any, Any], float]


class _Absent:
    """A key in place of a missing network or dataset; None cannot be a key, having no weak references."""


_ABSENT = _Absent()
_Defects = WeakKeyDictionary[Measure, float]
_MEASURED: WeakKeyDictionary[Network | _Absent, WeakKeyDictionary[Dataset | Population | _Absent, _Defects]]
_MEASURED = WeakKeyDictionary()


def measured_once(measure: Measure, network: Network | None, data: Dataset | Population | None) -> float:
    """measure(network, data), computed by the first call for these two objects.

    Infinity and NaN give no warning. Errors are not remembered.
    """
    if not (isinstance(network, Network | None) and isinstance(data, Dataset | Population | None)):
        return _measured(measure, network, data)  # what `measure` says of another type is its own matter
    defects = _defects(_ABSENT if network is None else network, _ABSENT if data is None else data)
    defect = defects.get(measure)
    return defects.setdefault(measure, _measured(measure, network, data)) if defect is None else defect


def _defects(network: Network | _Absent, data: Dataset | Population | _Absent) -> _Defects:
    """The table of this pair, made where it is missing."""
    by_data = _MEASURED.get(network)
    if by_data is None:
        by_data = _MEASURED.setdefault(network, WeakKeyDictionary())
    defects = by_data.get(data)
    return by_data.setdefault(data, WeakKeyDictionary()) if defects is None else defects


def _measured(measure: Measure, network: Any, data: Any) -> float:
    with np.errstate(all="ignore"):
        return float(measure(network, data))
