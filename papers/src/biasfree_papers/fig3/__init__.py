"""[ZSL25] Fig. 3 of TMLR (Fig. 1 of the first version): ReLU networks that learn like a linear network."""
