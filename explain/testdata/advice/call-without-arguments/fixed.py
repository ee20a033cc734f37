import os, torch

@torch.compile(backend="eager")
def f(x, pid):
    return x + (pid > 0)

print(f(torch.ones(3), os.getpid()))
