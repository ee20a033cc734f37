import torch

@torch.compile(backend="eager")
def f(x, step):
    return x * 2, f"step_{step:03d}"

for step in (3, 4, 5):
    print(f(torch.ones(2), step)[1])
