import time, torch

@torch.compile(backend="eager")
def f(x):
    y = x * 2
    return y + 1

y = f(torch.ones(3))
time.sleep(0.01)
print(y)
