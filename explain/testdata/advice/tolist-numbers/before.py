import torch
torch.manual_seed(0)

@torch.compile(backend="eager")
def pooled(x, groups, batch):
    x = x * 2
    return torch.stack([x[batch == g].sum() for g in groups.tolist()])

@torch.compile(backend="eager")
def parts(x, lengths):
    return [p.sum() for p in torch.split(x * 2, lengths.tolist())]

print(pooled(torch.rand(6), torch.tensor([0, 1]), torch.arange(6) % 2))
print(parts(torch.rand(6), torch.tensor([2, 4])))
