import torch

@torch.compile(backend="eager")
def f(x):
    y = x.log()
    y = torch.where(torch.isnan(y).any(), torch.nan_to_num(y), y)
    return y * 2

@torch.compile(backend="eager")
def g(x):
    y = x.log()
    return y * 2

y = g(torch.ones(3))
assert torch.isfinite(y).all(), f"bad {y.sum()}"
print(y, f(torch.ones(3)), f(-torch.ones(3)))
