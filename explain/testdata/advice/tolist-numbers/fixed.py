import torch
torch.manual_seed(0)

@torch.compile(backend="eager")
def pooled(x):
    x = x * 2
    return x

@torch.compile(backend="eager")
def parts(x):
    return x * 2

@torch.compile(backend="eager")
def cropped(x, top, left):
    x = x * 2
    return x[top:, left:].sum()

x, batch = pooled(torch.rand(6)), torch.arange(6) % 2
print(torch.stack([x[batch == g].sum() for g in torch.tensor([0, 1]).tolist()]))
print([p.sum() for p in torch.split(parts(torch.rand(6)), torch.tensor([2, 4]).tolist())])

print(cropped(torch.ones(4, 4), *torch.tensor([1, 2]).tolist()))