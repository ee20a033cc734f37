import os, torch

@torch.compile(backend="eager")
def f(x, mode):
    if mode == "sum": return x.sum()
    return x.mean()

for _ in range(int(os.environ.get("ROUNDS", "1"))):
    for i in range(4): print(f(torch.ones(3), ["sum", "mean"][i % 2]))
