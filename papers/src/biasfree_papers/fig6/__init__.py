"""[ZSL25] Fig. 6 of TMLR (Fig. 2 of the first version): a plateau that lasts while data are symmetric."""
