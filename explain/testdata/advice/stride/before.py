import torch

@torch.compile(backend="eager")
def f(x):
    return x.sin().sum()

for x in (torch.ones(4, 6), torch.ones(6, 4).t()):
    print(f(x))
