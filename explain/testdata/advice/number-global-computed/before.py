import math, torch
STEP = 0

@torch.compile(backend="eager")
def f(x):
    global STEP
    x = x * math.exp(-STEP / 10)
    STEP += 1
    return x

for _ in range(4): print(f(torch.ones(2)))
