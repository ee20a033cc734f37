import torch

@torch.compile(backend="eager")
def f(x):
    return torch.unique(x) * 2

print(f(torch.tensor([1, 2, 2])))
