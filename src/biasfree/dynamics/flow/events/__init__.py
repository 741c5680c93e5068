"""Gradient flow from kink to kink, at any depth.

A native loop follows the smooth pieces and finds the events that end them; NumPy decides each event.
"""
