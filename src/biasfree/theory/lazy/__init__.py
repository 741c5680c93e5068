"""The lazy regime: training with a fixed tangent kernel."""
