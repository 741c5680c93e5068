"""Gradient descent, native or in batches; logistic descent to huge times; sharpness."""
