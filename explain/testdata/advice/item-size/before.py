import torch

@torch.compile(backend="eager")
def f(x):
    pad = torch.zeros(x.sum().int().item())
    return torch.cat([x, pad])

x = torch.ones(3)
print(f(x))
