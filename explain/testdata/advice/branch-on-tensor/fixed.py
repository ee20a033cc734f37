import torch

@torch.compile(backend="eager")
def f(x):
    y = x * 2
    y = torch.where(y.sum() > 0, y + 1, y)
    return y.sin()

for s in (1.0, -1.0):
    print(f(torch.full((3,), s)))
