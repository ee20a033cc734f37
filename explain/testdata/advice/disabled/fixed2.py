import torch

@torch.compiler.disable
def helper(x):
    return x + 1

@torch.compile(backend="eager")
def before(x):
    return x * 2

@torch.compile(backend="eager")
def after(y):
    return y * 3

print(after(helper(before(torch.ones(3)))))
