"""Gradient flow and descent on infinite data: exact means over Gaussian or spherical inputs, in NumPy."""
