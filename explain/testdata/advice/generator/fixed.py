import torch
g = torch.Generator().manual_seed(0)

@torch.compile(backend="eager")
def f(x, noise):
    return x + noise

print(f(torch.ones(3), torch.rand(3, generator=g)))
