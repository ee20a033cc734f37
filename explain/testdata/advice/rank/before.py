import os, torch

@torch.compile(backend="eager")
def f(x):
    return x.sin().sum(-1)

for _ in range(int(os.environ.get("ROUNDS", "1"))):
    for x in (torch.ones(2, 4), torch.ones(4)):
        print(f(x).view(-1))
