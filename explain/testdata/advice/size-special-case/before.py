import os, torch

@torch.compile(backend="inductor", dynamic=True)
def f(x):
    return x.reshape(-1, 4).sum(1)

for _ in range(int(os.environ.get("ROUNDS", "1"))):
    for n in (4, 8, 16): print(f(torch.ones(n)))
