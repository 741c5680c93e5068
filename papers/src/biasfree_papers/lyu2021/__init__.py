"""Symmetric separable data: every leak and width ends at the largest margin (Lyu et al. 2021)."""
