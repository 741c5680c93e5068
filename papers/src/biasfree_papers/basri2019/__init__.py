"""Basri et al. (2019): frequencies on the circle that two bias-free layers can and cannot learn."""
