"""The native loop of the flow: compiled once by Numba for every shape, depth and loss."""
