import torch

@torch.compile(backend="eager")
def f(x):
    return x[x > 0].sum()

@torch.compile(backend="eager")
def g(x):
    out = torch.zeros_like(x)
    tok, = torch.where(x > 0)
    if tok.numel() == 0:
        return out
    out.index_add_(0, tok, x[tok] * 2)
    return out

x = torch.tensor([1.0, -2.0, 3.0])
print(f(x), g(x), g(x + 2))

@torch.compile(backend="eager")
def average(x):
    mask = x > 0.5
    return x[mask].sum() / mask.sum().clamp(min=1)

print(average(torch.tensor([0.1, 0.9, 0.7])))
