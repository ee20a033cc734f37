import torch

@torch.compile(backend="eager")
def f(x):
    return x * 2

for step in (3, 4, 5):
    f(torch.ones(2))
    print(f"step_{step}")
