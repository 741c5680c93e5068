"""[ZSL25] Theorem 13 and Lemma 12: the early phase, in which small random weights become of rank one."""
