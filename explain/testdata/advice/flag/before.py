import os, torch

@torch.compile(backend="eager")
def f(x, train):
    if train: x = x * 2
    return x + 1

for _ in range(int(os.environ.get("ROUNDS", "1"))):
    for i in range(4): print(f(torch.ones(3), i % 2 == 0))
