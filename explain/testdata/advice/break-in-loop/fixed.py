import torch

@torch.compile(backend="eager")
def body(x, y):
    return y + x.sin()

def f(xs):
    y = torch.zeros(3)
    for x in xs:
        y = body(x, y)
        print("sum", y.sum())
    return y

print(f([torch.ones(3), torch.zeros(3)]))
