# A module with a mask of the batch's size.
# fix 1: size
import os
import torch, torch.nn as nn
class Net(nn.Module):
    def __init__(s): super().__init__(); s.l = nn.Linear(8, 8)
    def forward(s, x, mask): return s.l(x) * mask
m = Net(); f = torch.compile(m, backend="eager")
# again
for n in (32, 16, 7): #+1
    x, m = torch.randn(n, 8), torch.ones(n, 8); torch._dynamo.maybe_mark_dynamic(x, 0); torch._dynamo.maybe_mark_dynamic(m, 0); f(x, m) #+1
for n in (32, 16, 7): f(torch.randn(n, 8), torch.ones(n, 8)) #-1
