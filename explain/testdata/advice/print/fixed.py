import torch

@torch.compile(backend="eager")
def f(x):
    y = x * 2
    return y + 1

y = f(torch.ones(3))
print("sum", (y - 1).sum())
print("out", y)
