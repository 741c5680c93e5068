"""Check of the references against methods that share no code with them: `python -m benchmarks.references`.

It takes four minutes and is not part of `make bench`; benchmarks/README.md has what it printed.
"""

from __future__ import annotations

import math

from benchmarks import peers_scipy, smoothed
from benchmarks.measure import path_error
from benchmarks.problems import FIG3_REFERENCE, SIX_REFERENCE, fig3, six_points

STEPS = (900_000, 3_600_000)  # of descent on six points
WIDTHS, RADAU = (1e-8, 1e-9, 1e-10), 1e-10  # of the rounded kinks, and their tolerance
TOLERANCES = (1e-6, 1e-8)  # of SciPy on Fig. 3


def main() -> None:
    """Descent as its step, rounded kinks as their width, and SciPy as its tolerance goes to zero."""
    six, large = six_points(), fig3()
    print(f"six points, flow through every kink at rtol {SIX_REFERENCE:g}")
    for steps in STEPS:
        found = six.descend(steps).weights
        print(f"  descent, step {six.ts[-1] / steps:.3g}: {path_error(found, six.reference):.1e}", flush=True)
    paths = []
    for width in WIDTHS:
        paths.append(smoothed.path(six, width, RADAU))
        error = path_error(paths[-1], six.reference)
        print(f"  kinks rounded over {width:g}, Radau at rtol {RADAU:g}: {error:.1e}", flush=True)
    limit = [(10 * w - v) / 9 for w, v in zip(paths[-1], paths[-2], strict=True)]  # widths fall tenfold
    print(f"  the last two, extrapolated to width zero: {path_error(limit, six.reference):.1e}", flush=True)
    print(f"Fig. 3, leak 0, flow through every kink at rtol {FIG3_REFERENCE:g}")
    for rtol in TOLERANCES:
        found = peers_scipy.solve(large, "DOP853", rtol=rtol, limit=math.inf).path
        print(f"  SciPy's DOP853 at rtol {rtol:g}: {path_error(found, large.reference):.1e}", flush=True)


if __name__ == "__main__":
    main()
