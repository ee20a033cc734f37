# NumPy within a compiled function, per-sample gradients, and NumPy's random numbers.
# fix 1: drawn-by-numpy
# fix 2: branch-on-tensor
# fix 1: after-break
import os
import numpy as np, torch
from torch.func import vmap, grad, functional_call, jacrev
torch.manual_seed(0)
def feat(x):
    a = x.detach().numpy()
    a = np.clip(a, -1, 1)
    h, _ = np.histogram(a, bins=4)
    return torch.from_numpy(h).float() + x.mean()
f = torch.compile(feat, backend="eager")
f(torch.randn(32))

lin = torch.nn.Linear(3, 1)
params = dict(lin.named_parameters())
def loss(p, x, y): return ((functional_call(lin, p, (x,)) - y) ** 2).mean()
@torch.compile(backend="eager")
def per_sample(p, xs, ys):
    g = vmap(grad(loss), (None, 0, 0))(p, xs, ys)
    n = torch.stack([v.flatten(1).norm(dim=1) for v in g.values()]).norm(dim=0)
    n = torch.where(n.max() > 10, n.clamp(max=10), n) #+2
    if n.max() > 10: n = n.clamp(max=10) #-2
    return n
per_sample(params, torch.randn(5, 3), torch.randn(5, 1))
@torch.compile(backend="eager")
def rnd(x, k): #+1
def rnd(x): #-1
    k = np.random.randint(0, 5) #-1
    return x * k
# again
for _ in range(3): rnd(torch.randn(3), torch.tensor(np.random.randint(0, 5))) #+1
for _ in range(3): rnd(torch.randn(3)) #-1
