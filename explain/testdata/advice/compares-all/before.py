import torch

@torch.compile(backend="eager")
def compare(a, b):
    diff = (a - b).abs()
    if torch.allclose(a, b, atol=0.05):
        return "same", diff
    return "differ", diff.max()

print(compare(torch.ones(3), torch.ones(3) + 0.01))

@torch.compile(backend="eager")
def restore(x, y):
    z = x * 2
    if torch.equal(x, y):
        z = z + y
    return z

print(restore(torch.ones(3), torch.ones(3)))
