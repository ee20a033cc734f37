import torch
scaler = torch.amp.GradScaler("cpu")

@torch.compile(backend="eager")
def f(x):
    return x.sum()

print(scaler.scale(f(torch.ones(3))))
