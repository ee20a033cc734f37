import torch
torch._dynamo.config.capture_scalar_outputs = True

@torch.compile(backend="eager", fullgraph=True)
def f(x):
    n = x.argmax()
    if n.item() == 2:
        return x + 1
    return x

try: f(torch.arange(3.))
except Exception: pass
