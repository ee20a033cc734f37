import os, torch

@torch.compile(backend="eager", dynamic=True)
def f(x, y):
    if x.shape[0] == y.shape[0]: return x + y
    return x.sum() + y.sum()

for _ in range(int(os.environ.get("ROUNDS", "1"))):
    for a, b in ((4, 4), (4, 6), (5, 5), (7, 8)): print(f(torch.ones(a), torch.ones(b)).sum())
