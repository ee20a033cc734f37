import torch
torch.manual_seed(0)

@torch.compile(backend="eager")
def f(x):
    l = torch.nn.Linear(3, 3)
    torch.nn.init.ones_(l.weight)
    return l(x).shape

print(f(torch.ones(2, 3)))
