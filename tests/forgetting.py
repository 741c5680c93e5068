"""Whether objects are kept alive, at the price of the youngest garbage."""

import gc
from typing import Any
from weakref import ref


def forgotten(*alive: ref[Any]) -> bool:
    """Whether nothing refers to them any more but garbage. A search of all that a test session holds takes a
    second, so that older generations are searched only if they may have what younger ones have not."""
    for generation in range(3):
        gc.collect(generation)
        if all(one() is None for one in alive):
            return True
    return False
