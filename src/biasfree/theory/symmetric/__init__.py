"""Two-layer networks on symmetric data: the loss, the equivalence with a linear network, and time courses.

Most results hold for rank-one initial weights; `_aligned` finds them for small random ones.
"""
