import torch

@torch.compile(backend="eager")
def f(x, buf):
    buf = torch.zeros(x.shape[0] * 2)
    buf[: x.shape[0]] = x
    return buf * 2

print(f(torch.ones(2), torch.empty(0)))
