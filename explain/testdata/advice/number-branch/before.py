import os, torch

@torch.compile(backend="eager")
def f(x, guidance):
    if guidance > 1.0:
        return x * guidance
    return x + 1

for _ in range(int(os.environ.get("ROUNDS", "1"))):
    for g in (7.5, 8.5, 0.5, 9.5): print(f(torch.ones(3), g))
