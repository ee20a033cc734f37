import torch

@torch.compile(backend="eager")
def f(x, n):
    return torch.where(torch.arange(x.shape[0]) < n, x, 0).sum()

print(f(torch.arange(5.0), torch.tensor(3)))

@torch.compile(backend="eager")
def window(x, start):
    return x[start + torch.arange(2)].mean()

print(window(torch.arange(5.0), torch.tensor(2)))
