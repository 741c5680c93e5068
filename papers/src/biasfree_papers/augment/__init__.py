"""Augmentation by mirror images and its cost on non-separable tasks (Lyu et al. 2021; [ZSL25] Sec. 1.1)."""
