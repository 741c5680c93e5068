"""Whether BLAS computes here as the processor that OPENBLAS_CORETYPE names: exit code 0, or another.

OpenBLAS takes other kernels for a name that it does not know, and instructions that a processor lacks end the
process. NumPy and SciPy have a copy each.
"""

import os
import sys

import numpy as np
from scipy.linalg.blas import dgemm
from threadpoolctl import threadpool_info

#: What OpenBLAS calls kernels that several processors share.
_SHARED = {"prescott": "katmai"}

wanted = os.environ["OPENBLAS_CORETYPE"].lower()
ones = np.ones((300, 300))
right = np.array_equal(ones @ ones, dgemm(1.0, ones, ones))
found = {str(one["architecture"]).lower() for one in threadpool_info() if one["internal_api"] == "openblas"}
sys.exit(0 if right and found and found <= {wanted, _SHARED.get(wanted, wanted)} else 1)
