# Blind, second set: a vision transformer whose attention maps are collected by hooks.
# fix 1: branch-on-tensor
# fix 1: break-in-loop
# fix 2: size
# fix 1: library-frame
# fix 1: called-within
# fix 1: after-break
# fix 1: of-each-closure
import os, torch, torch.nn as nn
torch.manual_seed(0)

class Block(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.attn = nn.MultiheadAttention(d, heads, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d))
    def forward(self, x):
        h = self.n1(x)
        a, w = self.attn(h, h, h, need_weights=True)
        x = x + a
        return x + self.mlp(self.n2(x))

class ViT(nn.Module):
    def __init__(self, d=16, patch=4, size=16, depth=2, classes=3):
        super().__init__()
        self.embed = nn.Conv2d(3, d, patch, patch)
        self.cls = nn.Parameter(torch.zeros(1, 1, d))
        self.pos = nn.Parameter(torch.randn(1, (size // patch) ** 2 + 1, d) * 0.02)
        self.blocks = nn.ModuleList(Block(d, 4) for _ in range(depth))
        self.head = nn.Linear(d, classes)
    def forward(self, x):
        x = self.embed(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls.expand(x.shape[0], -1, -1), x], 1) + self.pos
        for b in self.blocks:
            x = b(x)
        return self.head(x[:, 0])

maps = {}
def keep(name):
    def hook(module, inputs, output):
        maps[name] = output[1].detach()
        if output[1].max() > 0.99: #-1
            maps[name + ".peaked"] = True #-1
    return hook

net = ViT()
for i, b in enumerate(net.blocks):
    b.attn.register_forward_hook(keep("block%d" % i))
f = torch.compile(net, backend="eager")
# again
with torch.no_grad():
    for n in (2, 4, 5):
        x = torch.ones(n, 3, 16, 16); torch._dynamo.maybe_mark_dynamic(x, 0) #+2
        print("%.4f" % f(x).sum()) #+2
        print("%.4f" % f(torch.ones(n, 3, 16, 16)).sum()) #-2
for name in list(maps): #+1
    if maps[name].max() > 0.99: maps[name + '.peaked'] = True #+1
print(sorted(maps), "%.4f" % maps["block0"].sum())
