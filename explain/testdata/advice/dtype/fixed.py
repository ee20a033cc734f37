import torch

@torch.compile(backend="eager")
def f(x):
    return x.sin().sum()

for x in (torch.ones(4), torch.ones(4, dtype=torch.float64)):
    print("%.4f" % f(x.float()))
