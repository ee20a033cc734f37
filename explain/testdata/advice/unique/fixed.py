import torch

@torch.compile(backend="eager")
def f(x):
    return x * 2

print(f(torch.unique(torch.tensor([1, 2, 2]))))
