# Training with marked sizes, a branch in the loss and a compiled step.
# fix 1: branch-on-tensor
# fix 2: constraint
# fix 3: size
import os
"""Training: forward+backward+optimizer compiled, a break inside the loss, a dynamic last batch, a cache-able model."""
import torch, torch.nn.functional as F
torch.manual_seed(0)
class MLP(torch.nn.Module):
    def __init__(s):
        super().__init__(); s.a = torch.nn.Linear(32, 64); s.d = torch.nn.Dropout(0.1); s.b = torch.nn.Linear(64, 10)
    def forward(s, x):
        h = F.silu(s.a(x)); h = s.d(h)
        return s.b(h)
m = MLP(); opt = torch.optim.AdamW(m.parameters(), lr=1e-3)
cm = torch.compile(m, backend="eager")
@torch.compile(backend="eager")
def loss_fn(o, y):
    l = F.cross_entropy(o, y)
    l = torch.where(l > 100, l.clamp(max=100), l) #+1
    if l > 100: l = l.clamp(max=100) #-1
    return l
@torch.compile(backend="eager")
def step(): opt.step()
# again
for i, n in enumerate((16, 16, 16, 9)):
    x, y = torch.randn(n, 32), torch.randint(0, 10, (n,))
    torch._dynamo.mark_dynamic(x, 0); o = cm(x); torch._dynamo.mark_dynamic(o, 0) #-2
    torch._dynamo.mark_dynamic(x, 0); o = cm(x); torch._dynamo.maybe_mark_dynamic(o, 0) #+2
    torch._dynamo.maybe_mark_dynamic(y, 0) #+3
    opt.zero_grad(); l = loss_fn(o, y); l.backward(); step(); print(i, float(l), flush=True)
