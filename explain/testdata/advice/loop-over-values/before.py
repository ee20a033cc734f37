import torch

@torch.compile(backend="eager")
def f(x, labels):
    total = x.sum() * 0
    for c in labels.tolist():
        total = total + x.sin().sum() * c
    return total

@torch.compile(backend="eager")
def g(x, n):
    for _ in range(n.max().item()):
        x = x.cos()
    return x

print(f(torch.ones(3), torch.tensor([1, 2])))
print(g(torch.ones(3), torch.tensor([1, 2])))
