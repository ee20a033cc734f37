import time, torch

@torch.compile(backend="eager")
def f(x):
    start = time.time()
    torch._dynamo.graph_break()
    y = x * 2
    if start > 0: y = y + 1
    return y.cos()

for _ in range(3):
    print(f(torch.ones(3)))
