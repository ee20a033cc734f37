import torch

@torch.compile(backend="eager")
def f(x):
    return (x * 2).sum()

x = torch.ones(3)
x.requires_grad_()
f(x).backward()
print(x.grad)
