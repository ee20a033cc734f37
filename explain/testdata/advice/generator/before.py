import torch
g = torch.Generator().manual_seed(0)

@torch.compile(backend="eager")
def f(x):
    return x + torch.rand(3, generator=g)

print(f(torch.ones(3)))
