import torch

@torch.compile(backend="eager")
def step(x, t):
    return x * 2 + t

for n in (4, 6):
    x = torch.ones(n)
    for t in (9, 5, 2):
        torch._dynamo.maybe_mark_dynamic(x, 0)
        x = step(x, t)
    print(x)
