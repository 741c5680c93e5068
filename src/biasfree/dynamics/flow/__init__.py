"""Gradient flow by three methods: smooth (adaptive), events (adaptive between kinks), steps (halving)."""
