import torch
torch._dynamo.config.capture_scalar_outputs = True

@torch.compile(backend="eager")
def f(x):
    n = x.sum()
    x = torch.where(n > 2, x + 1, x)
    return x * 2

print(f(torch.ones(3)), f(torch.zeros(3)))
