import torch

@torch.compile(backend="eager")
def f(x):
    y = x.sin()
    torch._dynamo.graph_break()
    return y.cos()

print(f(torch.ones(3)))
