import torch

@torch.compile(backend="eager")
def compare(a, b):
    diff = (a - b).abs()
    return diff, diff.max()

a, b = torch.ones(3), torch.ones(3) + 0.01
diff, worst = compare(a, b)
print(("same", diff) if torch.allclose(a, b, atol=0.05) else ("differ", worst))

@torch.compile(backend="eager")
def restore(x, y):
    z = x * 2
    return torch.where((x == y).all(), z + y, z)

print(restore(torch.ones(3), torch.ones(3)))
