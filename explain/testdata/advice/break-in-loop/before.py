import torch

@torch.compile(backend="eager")
def f(xs):
    y = 0
    for x in xs:
        y = y + x.sin()
        print("sum", y.sum())
    return y

print(f([torch.ones(3), torch.zeros(3)]))
