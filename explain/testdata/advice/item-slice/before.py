import torch

@torch.compile(backend="eager")
def f(x, n):
    return x[:n].sum()

print(f(torch.arange(5.0), torch.tensor(3)))

@torch.compile(backend="eager")
def window(x, start):
    return x[start:start + 2].mean()

print(window(torch.arange(5.0), torch.tensor(2)))
