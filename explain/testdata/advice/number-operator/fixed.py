import torch

@torch.compile(backend="eager")
def halves(x):
    q, r = x.shape[0] // 2, x.shape[0] % 2
    return x * q + r

for n in (5, 6, 7):
    print(halves(torch.ones(n)))

@torch.compile(backend="eager")
def scaled(x, step):
    return x * (pow(step, 2) % 5)

for step in (5, 6, 7, 8):
    print(scaled(torch.ones(3), step))
