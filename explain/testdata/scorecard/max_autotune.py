# Modes and options of the inductor backend.
import os
import torch
torch.manual_seed(0)
@torch.compile(mode="max-autotune")
def f(a, b): return (a @ b).relu() + 1
f(torch.randn(64, 64), torch.randn(64, 64))
@torch.compile(mode="reduce-overhead")
def g(x):
    x.add_(1)
    return x.cpu() * 2
g(torch.randn(8))
@torch.compile(options={"trace.graph_diagram": False, "max_autotune": True})
def h(a): return torch.nn.functional.conv2d(a, torch.ones(2, 3, 3, 3)).sum()
# again
h(torch.randn(1, 3, 8, 8))
