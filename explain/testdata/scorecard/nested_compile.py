# Regional compile, a compiled function within another, one function compiled thrice.
# fix 1: graph-break-call
# fix 2: compile-in-loop
import os
import torch, torch.nn as nn
torch.manual_seed(0)
class Block(nn.Module):
    def __init__(s, d): super().__init__(); s.l1 = nn.Linear(d, 2 * d); s.l2 = nn.Linear(2 * d, d)
    def forward(s, x): return x + s.l2(s.l1(x).relu())
class Net(nn.Module):
    def __init__(s): super().__init__(); s.blocks = nn.ModuleList(Block(16 if i < 6 else 32) for i in range(8)); s.proj = nn.Linear(16, 32)
    def forward(s, x):
        for i, b in enumerate(s.blocks):
            if i == 6: x = s.proj(x)
            x = b(x)
        return x
net = Net()
for b in net.blocks: b.compile(backend="eager")          # regional compile
for _ in range(int(os.environ.get('ROUNDS', '1'))):
  with torch.no_grad(): net(torch.randn(2, 16))

@torch.compile(backend="eager")
def inner(x): return x.sin()
@torch.compile(backend="aot_eager")
def outer(x):
    y = inner(x)
    torch._dynamo.graph_break() #-1
    return inner(y) * 2
outer(torch.randn(3))

def base(x): return x.cos() + 1
a = b = c = torch.compile(base, backend="eager") #+2
a = torch.compile(base, backend="eager"); b = torch.compile(base, backend="aot_eager"); c = torch.compile(base, backend="aot_eager", dynamic=False) #-2
a(torch.randn(3)); b(torch.randn(3)); c(torch.randn(3))
