"""`python -m benchmarks`: all of `run.py`, with one thread per core, set before NumPy is loaded.

NumPy's, SciPy's and PyTorch's libraries look at these variables when they are loaded, and processes started
from here inherit them. XLA has no variable for it: its pool has a thread for each core of the process.
"""

import os
import sys

from biasfree.threads import cores

if __name__ == "__main__":
    for library in ("OMP", "OPENBLAS", "MKL"):
        os.environ[f"{library}_NUM_THREADS"] = str(cores())
    from benchmarks.run import main

    sys.exit(main())
