import time, torch

@torch.compile(backend="eager")
def f(x):
    t = time.perf_counter()
    y = x * 2
    f.took = time.perf_counter() - t
    return y + 1

y = f(torch.ones(3))
print(y)
