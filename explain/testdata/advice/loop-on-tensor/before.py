import torch

@torch.compile(backend="eager")
def f(x):
    while x.sum() < 10:
        x = x * 2
    return x

print(f(torch.ones(3)))
