import torch

@torch.compile(backend="eager")
def f(x):
    y = x * 2
    return y, y.sum(0)

y, l = f(torch.ones(2, 3))
print(y, l.tolist())
