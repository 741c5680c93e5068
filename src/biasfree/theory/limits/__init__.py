"""The end of training on symmetric data: least squares, its L2 form, and the maximum margin."""
