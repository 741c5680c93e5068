"""[ZSL25] Fig. 4 of TMLR: orthogonal and XOR points, square loss, learned one by one."""
