"""Three modules of one class that one line calls: two are alike, and share an entry."""
import torch
import torch.nn as nn

torch.manual_seed(0)
models = [torch.compile(nn.Sequential(nn.Linear(8, n), nn.ReLU(), nn.Linear(n, 8)), backend="aot_eager") for n in (8, 8, 16)]
x = torch.randn(4, 8)
for m in models:
    m(x)
for m in reversed(models):
    m(torch.randn(5, 8))
