import torch

@torch.compile(backend="eager")
def f(x):
    y = x.sin()
    torch._dynamo.graph_break()
    return y.cos().sum()

for n in (8, 12, 16):
    x = torch.ones(n)
    print(f(x))
