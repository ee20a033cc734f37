import torch

@torch.compile(backend="eager")
def f(x):
    if x.sum() < 0: raise ValueError("negative")
    return x.sqrt()

print(f(torch.ones(3)))
