"""Networks and data at the edge of the hypotheses, and checks of public functions on them.

A module has the `TABLE` of one room of the theory, which `tests/theory/test_edges.py` runs.
"""
