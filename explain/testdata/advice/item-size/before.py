import torch

@torch.compile(backend="eager")
def f(x):
    pad = torch.zeros(x.sum().int().item())
    return torch.cat([x, pad])

x = torch.ones(3)
print(f(x))

@torch.compile(backend="eager")
def counted(x):
    mask = x > 0.5
    n = int(mask.sum())
    return torch.topk(x, n).values

print(counted(torch.tensor([0.1, 0.9, 0.7])))
