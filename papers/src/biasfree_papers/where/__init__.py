"""Where it holds: each law of the paper over scale, δ, width, depth, symmetry and number of samples."""
