# compile of compiled functions; nested_compile_region; regional compilation of blocks
import torch
@torch.compile(backend="aot_eager")
def inner(x):
    torch._dynamo.graph_break()
    return x.sin()
@torch.compile(backend="aot_eager")
def outer(x):
    return inner(x.cos()) + 1
outer(torch.randn(3))
@torch.compiler.nested_compile_region
def block(x, w): return torch.relu(x @ w)
@torch.compile(backend="aot_eager")
def net(x, ws):
    for w in ws: x = block(x, w)
    return x
net(torch.randn(2, 4), [torch.randn(4, 4) for _ in range(3)])
class Layer(torch.nn.Module):
    def __init__(s, i):
        super().__init__(); s.l = torch.nn.Linear(4, 4); s.i = i
    def forward(s, x): return s.l(x) * s.i
layers = torch.nn.ModuleList(Layer(i) for i in range(10))
for l in layers: l.compile(backend="aot_eager")
x = torch.randn(2, 4)
for l in layers: x = l(x)
