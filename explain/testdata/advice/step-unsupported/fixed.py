import torch

@torch.compile(backend="eager")
def f(x):
    y = x.sin()
    return y + 1

print(f(torch.ones(3)))
