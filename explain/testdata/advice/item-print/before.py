import torch

@torch.compile(backend="aot_eager")
def f(x):
    y = x * 2
    print("sum", y.sum().item())
    return y.sin()

print(f(torch.ones(3)))
