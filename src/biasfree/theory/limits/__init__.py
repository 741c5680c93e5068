"""Where training ends on symmetric data: least squares, its L2 form, and the maximum margin."""
