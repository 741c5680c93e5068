"""Cheaper evaluations of the same velocity: classes of aligned neurons, merged samples."""
