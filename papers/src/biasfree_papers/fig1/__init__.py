"""[ZSL25] Fig. 1 of TMLR, rebuilt: functions that two and three layers, with and without biases, learn."""
