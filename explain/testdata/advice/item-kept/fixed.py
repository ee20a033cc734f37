import torch

log = []

@torch.compile(backend="eager")
def f(x):
    y = x * 2
    return y + 1, y.mean()

for i in range(3):
    out, mean = f(torch.ones(3) * i)
    log.append(mean.item())
    print(out)
print(log)
