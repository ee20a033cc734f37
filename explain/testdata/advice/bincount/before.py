import torch

@torch.compile(backend="eager")
def f(i):
    return torch.bincount(i, minlength=4) * 2

print(f(torch.tensor([0, 2, 2])))
