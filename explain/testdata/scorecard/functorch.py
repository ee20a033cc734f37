# Per-sample gradients and their norms, clipped.
# fix 1: branch-on-tensor
# fix 2: size
# fix 1: after-break
import os, torch
from torch.func import functional_call, grad, vmap
torch.manual_seed(0)
lin = torch.nn.Linear(3, 1)
params = {k: v.detach() for k, v in lin.named_parameters()}

def loss(p, x, y): return ((functional_call(lin, p, (x,)) - y) ** 2).mean()

@torch.compile(backend="eager")
def per_sample(p, xs, ys):
    g = vmap(grad(loss), (None, 0, 0))(p, xs, ys)
    n = torch.stack([v.flatten(1).norm(dim=1) for v in g.values()]).norm(dim=0)
    if n.max() > 1: n = n.clamp(max=1) #-1
    n = torch.where(n.max() > 1, n.clamp(max=1), n) #+1
    return n

for i, b in enumerate((5, 4, 3) * int(os.environ.get("ROUNDS", "1"))):
    xs, ys = torch.ones(b, 3), torch.zeros(b, 1)
    if i == 0: #+2
        torch._dynamo.maybe_mark_dynamic(xs, 0) #+2
        torch._dynamo.maybe_mark_dynamic(ys, 0) #+2
    print(per_sample(params, xs, ys))
