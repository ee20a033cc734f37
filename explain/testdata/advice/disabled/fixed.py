import torch

def helper(x):
    return x + 1

@torch.compile(backend="eager")
def f(x):
    return helper(x * 2) * 3

print(f(torch.ones(3)))
