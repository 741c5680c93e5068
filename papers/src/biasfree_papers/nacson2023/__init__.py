"""Nacson et al. (2023): the larger the step, the flatter and the smaller the minimum of descent."""
