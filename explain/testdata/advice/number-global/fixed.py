import torch
STEP = 0

@torch.compile(backend="eager")
def f(x, step):
    x = x * step
    return x

for _ in range(4):
    print(f(torch.ones(2), STEP))
    STEP += 1
