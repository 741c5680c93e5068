"""Other optimizers: which keep ReLU networks on their linear twins."""
