"""Modules of PyTorch itself, each compiled at the top: Dynamo wraps all of them in one function."""
import torch
import torch.nn as nn

torch.manual_seed(0)
seq = torch.compile(nn.Sequential(nn.Linear(8, 8), nn.ReLU()), backend="aot_eager")
lin = torch.compile(nn.Linear(4, 4), backend="aot_eager")
norm = torch.compile(nn.LayerNorm(4), backend="aot_eager")
for n in (32, 16, 7):
    x = torch.randn(n, 8)
    y = seq(x)
z = lin(torch.randn(3, 4))
z = norm(z)
