import torch

log = []

@torch.compile(backend="eager")
def f(x):
    y = x * 2
    log.append(y.mean().item())
    return y + 1

for i in range(3):
    print(f(torch.ones(3) * i))
print(log)
