import os, torch

@torch.compile(backend="eager")
def f(a, b):
    return a * 2 + b

x, y = torch.ones(3), torch.ones(3)

for _ in range(int(os.environ.get("ROUNDS", "1"))):
    print(f(x, x))
    print(f(x, y))
