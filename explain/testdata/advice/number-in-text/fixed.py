import torch

@torch.compile(backend="eager")
def f(x):
    return x * 2

@torch.compile(backend="eager")
def named(x):
    return x * 2

for step in (3, 4, 5):
    f(torch.ones(2))
    print(f"step_{step}")
for step in (3, 5, 8, 12, 16):
    named(torch.ones(2))
    print(f"step_{step}" if step % 4 == 0 else "")
