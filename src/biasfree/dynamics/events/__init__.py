"""Events of flows: what becomes of a step in which units reach their hyperplanes, and of those units."""
