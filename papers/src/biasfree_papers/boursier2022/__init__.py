"""Boursier et al. (2022): orthogonal inputs, alignment, two escapes, and the interpolator of least norm."""
