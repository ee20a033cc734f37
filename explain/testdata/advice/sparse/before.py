import torch
s = torch.eye(3).to_sparse()

@torch.compile(backend="eager")
def f(x):
    return torch.sparse.mm(s, x).sin()

print(f(torch.ones(3, 3)))
