import torch

@torch.compile(backend="eager")
def f(x):
    y = x.sin()
    torch._dynamo.step_unsupported()
    return y + 1

print(f(torch.ones(3)))
