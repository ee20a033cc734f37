import torch

@torch.compile(backend="eager")
def f(x, n):
    return x[:n].sum()

print(f(torch.arange(5.0), torch.tensor(3)))
