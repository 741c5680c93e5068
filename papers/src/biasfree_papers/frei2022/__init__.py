"""Frei et al. (2022): high-dimensional data, on which a leaky first layer soon has low rank."""
