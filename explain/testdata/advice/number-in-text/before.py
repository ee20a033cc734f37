import torch

@torch.compile(backend="eager")
def f(x, step):
    return x * 2, f"step_{step}"

@torch.compile(backend="eager")
def named(x, step):
    name = ""
    if step % 4 == 0:
        name = f"step_{step}"
    return x * 2, name

for step in (3, 4, 5):
    print(f(torch.ones(2), step)[1])
for step in (3, 5, 8, 12, 16):
    print(named(torch.ones(2), step)[1])
