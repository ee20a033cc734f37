import torch
torch._dynamo.config.capture_scalar_outputs = True

@torch.compile(backend="eager", fullgraph=True)
def f(x):
    n = x.argmax()
    return torch.where(n == 2, x + 1, x)

try: f(torch.arange(3.))
except Exception: pass
