import os, torch

@torch.compile(backend="eager", dynamic=True)
def f(x):
    if x.shape[0] > 5: return x * 2
    return x

for _ in range(int(os.environ.get("ROUNDS", "1"))):
    for n in (4, 8, 3, 9): print(f(torch.ones(n)).sum())
