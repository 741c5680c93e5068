"""Units at their hyperplanes: constraints, the search for the first event of a step, decisions."""
