import torch

@torch.compile(backend="eager")
def f(x):
    return torch.where(x > 0, x, 0).sum()

@torch.compile(backend="eager")
def g(x):
    out = torch.zeros_like(x)
    out = out + torch.where(x > 0, x * 2, 0)
    return out

x = torch.tensor([1.0, -2.0, 3.0])
print(f(x), g(x), g(x + 2))
