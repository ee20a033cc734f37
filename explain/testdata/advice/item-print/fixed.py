import torch

@torch.compile(backend="aot_eager")
def f(x):
    y = x * 2
    return y.sin(), y.sum()

y, s = f(torch.ones(3))
print("sum", s.item())
print(y)
