import os, torch

@torch.compile(backend="eager")
def f(x, mask=None):
    if mask is not None: x = x * mask
    return x + 1

for _ in range(int(os.environ.get("ROUNDS", "1"))):
    for m in (None, torch.ones(3), None): print(f(torch.ones(3), m))
