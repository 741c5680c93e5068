"""[ZSL25] App. C.4 of TMLR, rebuilt: the equivalence with a linear network under L2."""
