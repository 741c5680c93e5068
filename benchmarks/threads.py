"""Number of threads for arithmetic: one per core, for us and for the peers.

NumPy's, SciPy's and PyTorch's libraries look at these variables when they are loaded, so `pin` comes before
their imports. XLA has no variable for it: its pool has a thread for each core that the process may use.
"""

from __future__ import annotations

import os

from biasfree.threads import cores

_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def pin() -> None:
    """Give BLAS and OpenMP one thread per core; processes started from here inherit it."""
    os.environ.update(dict.fromkeys(_VARIABLES, str(cores())))


def described() -> str:
    """The number of threads, for the head of the table."""
    ours = os.environ.get(_VARIABLES[0], "as the libraries choose")
    return f"BLAS and OpenMP {ours}, XLA {cores()}, PyTorch the best of {' and '.join(map(str, counts()))}"


def counts() -> tuple[int, ...]:
    """The numbers of threads that PyTorch is tried with."""
    return tuple(sorted({1, cores()}))
