"""Between lazy and rich: over which scales and widths each theory describes training."""
