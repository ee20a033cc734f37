import torch

@torch.compile(backend="eager")
def f(i):
    return torch.zeros(4, dtype=torch.long).scatter_add(0, i, torch.ones_like(i)) * 2

print(f(torch.tensor([0, 2, 2])))
