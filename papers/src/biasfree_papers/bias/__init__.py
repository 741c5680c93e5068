"""[ZSL25] App. B of v1: a hidden bias is an input fixed to 1, and changes where training ends."""
