import torch

@torch.compile(backend="eager")
def body(x):
    return x * 2

def f(x):
    while x.sum() < 10:
        x = body(x)
    return x

print(f(torch.ones(3)))
