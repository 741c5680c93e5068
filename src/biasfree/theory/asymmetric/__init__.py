"""Data without symmetry: points learned by their own neurons, and fixed activation patterns."""
