import math, torch

@torch.compile(backend="eager")
def normed(x):
    size = torch.sqrt(x.pow(2).sum())
    return x / size

print(normed(torch.tensor([3.0, 4.0])))

@torch.compile(backend="eager")
def stepped(x):
    y = x * 2
    return y, y.sum()

y, total = stepped(torch.tensor([3.0, 4.25]))
print((y, math.floor(total)))
