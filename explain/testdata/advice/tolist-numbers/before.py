import torch
torch.manual_seed(0)

@torch.compile(backend="eager")
def pooled(x, groups, batch):
    x = x * 2
    return torch.stack([x[batch == g].sum() for g in groups.tolist()])

@torch.compile(backend="eager")
def parts(x, lengths):
    return [p.sum() for p in torch.split(x * 2, lengths.tolist())]

@torch.compile(backend="eager")
def cropped(x, box):
    x = x * 2
    top, left = box.tolist()
    return x[top:, left:].sum()

print(pooled(torch.rand(6), torch.tensor([0, 1]), torch.arange(6) % 2))
print(parts(torch.rand(6), torch.tensor([2, 4])))

print(cropped(torch.ones(4, 4), torch.tensor([1, 2])))