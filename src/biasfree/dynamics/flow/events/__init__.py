"""Gradient flow of two layers from kink to kink.

A compiled loop follows the smooth pieces and locates the events that end them; NumPy decides each event.
"""
