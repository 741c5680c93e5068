"""Not in the paper: handwritten digits, their measured symmetry, and the effect of mirror images."""
