import numpy as np, torch

@torch.compile(backend="eager")
def f(a):
    return torch.sin(a).sum()

for n in (3, 4, 5):
    a = np.ones(n)
    x = torch.from_numpy(a)
    if n == 3: torch._dynamo.maybe_mark_dynamic(x, 0)
    print("%.4f" % f(x))
