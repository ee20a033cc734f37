import math, torch
STEP = 0

@torch.compile(backend="eager")
def f(x, decay):
    x = x * decay
    return x

for _ in range(4):
    print(f(torch.ones(2), torch.tensor(math.exp(-STEP / 10))))
    STEP += 1
