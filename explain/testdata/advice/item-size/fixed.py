import torch

@torch.compile(backend="eager")
def f(x, n):
    pad = torch.zeros(n)
    return torch.cat([x, pad])

x = torch.ones(3)
print(f(x, x.sum().int().item()))

@torch.compile(backend="eager")
def counted(x):
    return x > 0.5

x = torch.tensor([0.1, 0.9, 0.7])
print(torch.topk(x, int(counted(x).sum())).values)
