"""[ZSL25] Corollary 6: training ends at the least-squares map or at the largest margin."""
