import torch, threading
lock = threading.Lock()

@torch.compile(backend="eager")
def f(x):
    y = x * 2
    return y + 1

with lock:
    y = f(torch.ones(3))
print(y)
