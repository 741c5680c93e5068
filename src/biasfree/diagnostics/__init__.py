"""What we measure: plain functions of one network, of data, or of both."""

from biasfree.diagnostics.equivalence import weight_error, weight_errors
from biasfree.diagnostics.function import even_fraction, linear_map
from biasfree.theory.symmetry import symmetry_defect

__all__ = ["even_fraction", "linear_map", "symmetry_defect", "weight_error", "weight_errors"]
