import torch
torch._dynamo.config.capture_scalar_outputs = True

@torch.compile(backend="eager")
def f(x):
    n = x.sum().item()
    if n > 2:
        x = x + 1
    return x * 2

print(f(torch.ones(3)), f(torch.zeros(3)))
