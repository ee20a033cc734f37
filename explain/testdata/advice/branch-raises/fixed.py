import torch

@torch.compile(backend="eager")
def f(x):
    return x.sqrt()

x = torch.ones(3)
if x.sum() < 0: raise ValueError("negative")
print(f(x))
