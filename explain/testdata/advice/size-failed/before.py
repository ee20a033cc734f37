import torch

def backend(gm, inputs):
    if any(isinstance(i, torch.SymInt) for i in inputs):
        raise NotImplementedError("open sizes")
    return gm.forward

@torch.compile(backend=backend)
def f(x):
    return x.sin().sum()

for n in (8, 12):
    x = torch.ones(n)
    try:
        print("%.4f" % f(x))
    except Exception:
        print("%.4f" % x.sin().sum())
