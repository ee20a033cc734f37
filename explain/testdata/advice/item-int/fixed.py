import torch
torch.manual_seed(0)
tables = [torch.arange(4.0) * k for k in range(3)]

@torch.compile(backend="eager")
def pick(x, level):
    return x + tables[level]

@torch.compile(backend="eager")
def repeat(x, times):
    for _ in range(times):
        x = x * 2
    return x

print(pick(torch.ones(4), torch.tensor(2).item()), repeat(torch.ones(4), torch.tensor(3).item()))
