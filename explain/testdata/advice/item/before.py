import torch

log = {}

@torch.compile(backend="eager")
def f(x):
    y = x * 2
    log["mean"] = y.mean().item()
    return y + 1

print(f(torch.ones(3)), float(log["mean"]))
