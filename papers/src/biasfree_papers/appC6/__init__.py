"""[ZSL25] App. C.6 of TMLR, rebuilt: the equivalence with a linear network at large steps."""
