"""[ZSL25] App. C.5 of TMLR, rebuilt: the equivalence with a linear network from large initial weights."""
