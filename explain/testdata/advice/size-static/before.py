import os, torch

@torch.compile(backend="eager", dynamic=False)
def f(x):
    return x.sin().sum()

for _ in range(int(os.environ.get("ROUNDS", "1"))):
    for n in (8, 12, 16): print(f(torch.ones(n)))
