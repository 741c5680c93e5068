"""Lai et al. (2026): in high dimensions training ends √(n/d) away from the least-norm interpolator."""
