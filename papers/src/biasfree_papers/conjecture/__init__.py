"""[ZSL25] Conjecture 11 (Eq. 40 of the first version) on a test bench: inputs, targets, depths and scales."""
