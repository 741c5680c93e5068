"""Networks and data at the edge of the hypotheses, and checks of the theory's public functions on them.

A module has the `TABLE` of one room of the theory. `tests/theory/test_edges.py` runs all of them.
"""
