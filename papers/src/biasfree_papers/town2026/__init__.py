"""Town et al. (2026): orthogonal data from vanishing weights, one neuron per saddle, a width ~ log n."""
