"""Data without symmetry: early directions, points learned by their own neurons, fixed activation patterns."""
