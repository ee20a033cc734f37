import torch
names = []

@torch.compile(backend="eager")
def f(x):
    y = x * 2
    return y

y = f(torch.ones(3))
names.append(str(y.sum()))
print(y, names)
