"""Figs. 4 and 8 of [ZSL25]: orthogonal and XOR points, which differ in the loss and the step."""
