"""[ZSL25] Fig. 5 of TMLR (Fig. 3 of the first version): the structure that layers of deep networks reach."""
