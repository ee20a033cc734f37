import os, torch

@torch.compile(backend="eager")
def f(x):
    return x + (os.getpid() > 0)

print(f(torch.ones(3)))
