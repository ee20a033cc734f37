import torch

@torch.compile(backend="eager")
def f(x):
    y = x.sin()
    return y.cos()

print(f(torch.ones(3)))
