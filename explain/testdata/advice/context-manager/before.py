import torch, threading
lock = threading.Lock()

@torch.compile(backend="eager")
def f(x):
    with lock:
        y = x * 2
    return y + 1

y = f(torch.ones(3))
print(y)
