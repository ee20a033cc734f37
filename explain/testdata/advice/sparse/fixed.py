import torch
s = torch.eye(3).to_sparse()

@torch.compile(backend="eager")
def f(x):
    return x.sin()

print(f(torch.sparse.mm(s, torch.ones(3, 3))))
