import torch
names = []

@torch.compile(backend="eager")
def f(x):
    y = x * 2
    names.append(str(y.sum()))
    return y

y = f(torch.ones(3))
print(y, names)
