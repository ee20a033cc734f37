import torch
torch.manual_seed(0)

@torch.compile(backend="eager")
def f(x):
    return l(x).shape

l = torch.nn.Linear(3, 3)
print(f(torch.ones(2, 3)))
