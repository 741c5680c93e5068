"""`python -m benchmarks`: all of `run.py`, with the number of threads set before NumPy is loaded."""

import sys

from benchmarks.threads import pin

if __name__ == "__main__":
    pin()
    from benchmarks.run import main

    sys.exit(main())
