import torch

@torch.compile(backend="eager")
def f(x):
    y = x * 2
    if y.sum() > 0:
        y = y + 1
    return y.sin()

for s in (1.0, -1.0):
    print(f(torch.full((3,), s)))
