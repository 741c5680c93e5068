"""Phase diagrams: for which scale, width, depth and asymmetry what the paper says holds."""
