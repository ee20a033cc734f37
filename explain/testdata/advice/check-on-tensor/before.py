import torch

@torch.compile(backend="eager")
def f(x):
    y = x.log()
    if torch.isnan(y).any():
        y = torch.nan_to_num(y)
    return y * 2

@torch.compile(backend="eager")
def g(x):
    y = x.log()
    assert torch.isfinite(y).all(), f"bad {y.sum()}"
    return y * 2

y = g(torch.ones(3))
print(y, f(torch.ones(3)), f(-torch.ones(3)))
