import os, torch
names = []

@torch.compile(backend="eager")
def f(x):
    if not names: return x + 1
    return x + 2

for _ in range(int(os.environ.get("ROUNDS", "1"))):
    for i in range(4):
        names[:] = ["a"] * (i % 2)
        print(f(torch.ones(2)))
