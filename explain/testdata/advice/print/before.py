import torch

@torch.compile(backend="eager")
def f(x):
    y = x * 2
    print("sum", y.sum())
    return y + 1

y = f(torch.ones(3))
print("out", y)
