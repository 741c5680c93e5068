"""A linear teacher and a fixed second layer: boundaries close to linear (Sarussi et al. 2021)."""
