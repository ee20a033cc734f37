import time, torch

@torch.compile(backend="eager")
def f(x):
    y = x * 2
    return y + 1

t = time.perf_counter()
y = f(torch.ones(3))
took = time.perf_counter() - t
print(y)
