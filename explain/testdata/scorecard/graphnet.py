# Blind, second set: message passing with scatter, on graphs of different sizes.
# fix 1: item
# fix 2: size
# fix 1: after-break
import os, torch, torch.nn as nn
torch.manual_seed(0)

def scatter_mean(src, index, n):
    out = torch.zeros(n, src.shape[-1]).index_add_(0, index, src)
    cnt = torch.zeros(n).index_add_(0, index, torch.ones(index.shape[0]))
    return out / cnt.clamp(min=1).unsqueeze(-1)

class Layer(nn.Module):
    def __init__(self, d):
        super().__init__(); self.msg = nn.Linear(2 * d, d); self.upd = nn.GRUCell(d, d)
    def forward(self, x, edges):
        m = self.msg(torch.cat([x[edges[0]], x[edges[1]]], -1)).relu()
        return self.upd(scatter_mean(m, edges[1], x.shape[0]), x)

class Net(nn.Module):
    def __init__(self, d=8):
        super().__init__(); self.layers = nn.ModuleList(Layer(d) for _ in range(2)); self.out = nn.Linear(d, 1)
    def forward(self, x, edges, batch, graphs): #+1
    def forward(self, x, edges, batch): #-1
        for l in self.layers:
            x = l(x, edges)
        graphs = int(batch.max()) + 1 #-1
        return self.out(scatter_mean(x, batch, graphs))

net = torch.compile(Net(), backend="eager")
# again
with torch.no_grad():
    for n, e in ((5, 8), (7, 9), (6, 12)):
        edges = torch.arange(2 * e).reshape(2, e) % n
        batch = (torch.arange(n) >= 3).long()
        x = torch.ones(n, 8) #+1 #+2
        torch._dynamo.maybe_mark_dynamic(edges, 1); torch._dynamo.maybe_mark_dynamic(x, 0); torch._dynamo.maybe_mark_dynamic(batch, 0) #+2
        print('%.4f' % net(x, edges, batch).sum()) #+2
        print('%.4f' % net(x, edges, batch, int(batch.max()) + 1).sum()) #+1
        print("%.4f" % net(torch.ones(n, 8), edges, batch).sum()) #-1 #-2
