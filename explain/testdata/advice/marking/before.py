import torch

@torch.compile(backend="eager")
def f(x):
    return x.sin().sum()

for i in range(2):
    x = torch.ones(8)
    if i: torch._dynamo.mark_dynamic(x, 0)
    print(f(x))
