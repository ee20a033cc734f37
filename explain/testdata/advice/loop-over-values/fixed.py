import torch

@torch.compile(backend="eager")
def add(total, x, c):
    return total + x.sin().sum() * c

def f(x, labels):
    total = x.sum() * 0
    for c in labels:
        total = add(total, x, c)
    return total

@torch.compile(backend="eager")
def turn(x):
    return x.cos()

def g(x, n):
    for _ in range(n.max().item()):
        x = turn(x)
    return x

print(f(torch.ones(3), torch.tensor([1, 2])))
print(g(torch.ones(3), torch.tensor([1, 2])))
