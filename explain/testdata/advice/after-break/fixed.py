import torch

@torch.compile(backend="eager")
def f(x):
    y = x.sin()
    return y.cos().sum()

for n in (8, 12, 16):
    x = torch.ones(n)
    print(f(x))
