import os, torch

@torch.compile(backend="eager")
def f(x, **kwargs):
    return x + sum(v for v in kwargs.values()) + len(kwargs)

for _ in range(int(os.environ.get("ROUNDS", "1"))):
    print(f(torch.ones(3), a=torch.ones(3)))
    print(f(torch.ones(3), a=torch.ones(3), b=torch.ones(3)))
