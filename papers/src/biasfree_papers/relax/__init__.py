"""Not in the paper: data that lose their symmetry step by step, and networks that diverge from their twin."""
