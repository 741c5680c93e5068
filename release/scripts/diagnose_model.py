"""A PyTorch model is diagnosed, and a network travels to PyTorch and back."""

import numpy as np
import torch

import biasfree as bf

data = bf.data.odd_sine(n=200, d=5, seed=0)
torch.manual_seed(0)
model = torch.nn.Sequential(
    torch.nn.Linear(5, 16, bias=False), torch.nn.ReLU(), torch.nn.Linear(16, 1, bias=False)
)
print(bf.diagnose(model, data).verdict)
network = bf.Network.from_torch(model)
with torch.no_grad():
    there = model(torch.tensor(data.x, dtype=torch.float32)).numpy()
# float32 has 24 bits; sums of 16 terms of order 1
np.testing.assert_allclose(np.ravel(network(data.x)), np.ravel(there), atol=1e-5)
print(bf.diagnostics.layer_linearity(model, data.x))
