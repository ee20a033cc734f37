import torch

@torch.compile(backend="eager")
def f(x):
    return x.view(4, 2) + torch.ones(4, 1)

x = torch.ones(4, 2)
torch._dynamo.maybe_mark_dynamic(x, 0)
print(f(x))
