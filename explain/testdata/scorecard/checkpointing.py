# Activation checkpointing of blocks that count and branch.
# fix 1: branch-on-tensor
# fix 2: checkpoint-side-effect
import torch
from torch.utils.checkpoint import checkpoint
torch.manual_seed(0)

class Net(torch.nn.Module):
    def __init__(s):
        super().__init__(); s.a, s.b = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)
    def blk(s, x):
        y = s.b(x).relu()
        if y.max() > 100: y = y / 2 #-1
        y = torch.where(y.max() > 100, y / 2, y) #+1
        return y
    def forward(s, x): return checkpoint(s.blk, s.a(x), use_reentrant=False).sum()

n = Net(); f = torch.compile(n, backend="eager")
# again
l = f(torch.ones(2, 4)); l.backward()
print(l.detach(), n.a.weight.grad.sum())
