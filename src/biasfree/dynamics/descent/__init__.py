"""Gradient descent, its runs in batches; logistic descent to huge times; sharpness."""
