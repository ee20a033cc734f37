import torch

@torch.compile(backend="eager")
def f(x):
    y = x.sin()
    torch._dynamo.skip_frame()
    return y + 1

print(f(torch.ones(3)))
