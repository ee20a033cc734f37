import torch

@torch.compile(backend="eager")
def f(x):
    y = x * 2
    m = y.mean()
    return y - m, m

y, m = f(torch.ones(3))
print(y, float(m))
