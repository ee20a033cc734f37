import torch

@torch.compile(backend="eager")
def f(x, step):
    return x * 2

for step in (3, 4, 5):
    f(torch.ones(2), step)
    print(f"step_{step:03d}")
