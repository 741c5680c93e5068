"""Networks and data at the edge of the hypotheses, and checks of public functions on them.

A module has the `TABLE` of one room of the theory, which `tests/theory/test_edges.py` runs, or of the theory
of neighboring papers, which `tests/papers/theory/test_edges.py` runs.
"""
