"""[ZSL25] Fig. 8 of TMLR: orthogonal and XOR points, logistic loss, learned one by one."""
