# nn.Sequential compiled by itself.
# fix 1: size
import os
import torch
m = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU())
f = torch.compile(m, backend="eager")
# again
for n in (32, 16, 7): #+1
    x = torch.randn(n, 8); torch._dynamo.maybe_mark_dynamic(x, 0); f(x) #+1
for n in (32, 16, 7): f(torch.randn(n, 8)) #-1
