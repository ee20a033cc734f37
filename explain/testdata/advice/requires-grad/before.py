import torch

@torch.compile(backend="eager")
def f(x):
    x.requires_grad_()
    return (x * 2).sum()

x = torch.ones(3)
f(x).backward()
print(x.grad)
