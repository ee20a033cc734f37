import torch
scaler = torch.amp.GradScaler("cpu")

@torch.compile(backend="eager")
def f(x):
    return scaler.scale(x.sum())

print(f(torch.ones(3)))
