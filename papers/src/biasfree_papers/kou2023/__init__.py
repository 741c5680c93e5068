"""Kou et al. (2023): nearly orthogonal data; leaky sign blocks tend to rank one, ReLU ones stay bounded."""
