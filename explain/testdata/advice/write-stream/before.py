import sys, torch

@torch.compile(backend="eager")
def f(x):
    y = x * 2
    sys.stdout.write("half\n")
    return y.sin()

print(f(torch.ones(3)))
