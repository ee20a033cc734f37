# Mixture of experts with top-k routing, tokens gathered per expert.
# fix 1: mask-select
# fix 2: break-in-loop
import os, torch, torch.nn as nn
torch.manual_seed(0)

class MoE(nn.Module):
    def __init__(s, d=8, n=3, k=2):
        super().__init__()
        s.gate = nn.Linear(d, n); s.k = k
        s.experts = nn.ModuleList(nn.Linear(d, d) for _ in range(n))
    def forward(s, x):
        w, idx = s.gate(x).softmax(-1).topk(s.k, -1)
        out = torch.zeros_like(x)
        for e, ex in enumerate(s.experts):
            weight = torch.where(idx == e, w, 0).sum(-1, keepdim=True) #+1 #+2
            out = out + ex(x) * weight #+1 #+2
            tok, slot = torch.where(idx == e) #-1 #-2
            out.index_add_(0, tok, ex(x[tok]) * w[tok, slot, None]) #-1 #-2
        return out

f = torch.compile(MoE(), backend="eager")
# again
with torch.no_grad(): print("%.4f" % f(torch.ones(6, 8)).sum())
