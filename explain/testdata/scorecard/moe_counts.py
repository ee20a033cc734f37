# A mixture of experts that counts its tokens.
# fix 1: mask-select
# fix 1: break-in-loop
# fix 2: bincount
# fix 2: tolist
# fix 3: size
import os
import torch, torch.nn as nn
torch.manual_seed(0)
class MoE(nn.Module):
    def __init__(s, d=16, n=4, k=2):
        super().__init__(); s.gate = nn.Linear(d, n); s.k = k
        s.experts = nn.ModuleList(nn.Sequential(nn.Linear(d, d), nn.GELU()) for _ in range(n))
    def forward(s, x):
        w, idx = s.gate(x).softmax(-1).topk(s.k, -1)
        out = torch.zeros_like(x)
        for e, ex in enumerate(s.experts):
            out = out + ex(x) * torch.where(idx == e, w, 0).sum(-1, keepdim=True) #+1
            tok, slot = torch.where(idx == e) #-1
            if tok.numel() == 0: #-1
                continue #-1
            out.index_add_(0, tok, ex(x[tok]) * w[tok, slot, None]) #-1
        counts = torch.bincount(idx.flatten(), minlength=len(s.experts)).tolist() #-2
        counts = torch.zeros(len(s.experts), dtype=torch.long).scatter_add(0, idx.flatten(), torch.ones_like(idx.flatten())) #+2
        s.last_counts = counts
        return out
m = MoE(); f = torch.compile(m, backend="eager")
# again
with torch.no_grad():
    for n in (6, 9, 12):
        x = torch.randn(n, 16)
        torch._dynamo.maybe_mark_dynamic(x, 0) #+3
        print(f(x).shape)
